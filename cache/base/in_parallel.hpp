// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace tilewright {

/// Calls work(i) for each i below `count`, on as many threads as the machine has cores, the caller's among them. Once a
/// call has thrown no other is begun, and what it has thrown is thrown again after all threads have ended.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace tilewright
