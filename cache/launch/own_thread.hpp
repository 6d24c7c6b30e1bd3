// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>

namespace tilewright::launch {

/// Begins a thread of the library's own, which no signal of the application is delivered to: those are for its own
/// threads. Throws std::system_error when the system has none left; the caller's signals are as they were in any case.
[[nodiscard]] std::thread own_thread(std::function<void()> work);

}  // namespace tilewright::launch
