// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>

namespace tilewright::launch {

/// Starts a thread of the library with all signals blocked: signals go to the application's own threads. Throws
/// std::system_error if the system has no thread left. The caller's signal mask is restored in any case.
[[nodiscard]] std::thread own_thread(std::function<void()> work);

}  // namespace tilewright::launch
