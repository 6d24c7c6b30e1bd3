// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

/// Waits before work is done again that another process or a slow clock disturbed. For any thread.
namespace tilewright {

/// Most times that disturbed work is done again.
inline constexpr int kMostRetakes = 3;

/// Waits 100 ms before retake 0, and twice as long before each next. Returns false if `interrupted`, which may be
/// empty, became true.
[[nodiscard]] bool wait_for_retake(int retake, const std::function<bool()>& interrupted);

}  // namespace tilewright
