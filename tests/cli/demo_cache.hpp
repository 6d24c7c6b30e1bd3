// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "cache/store/store.hpp"

/// A cache of a made-up op on a made-up GPU, for what only reads: `demo` with dims rows and cols, tuned for rows =
/// 1…n and cols = 64.
namespace tilewright::testing {

[[nodiscard]] OpInterface demo_interface();
[[nodiscard]] DeviceFacts demo_device();
/// The winner of row r takes r µs, the base twice that.
void fill_demo_cache(const std::string& path, std::size_t problems);
/// The rows of the cache at `path` in a cache of an older schema at `older`, as a program of that time wrote them.
void make_older_cache(const std::string& path, const std::string& older, std::size_t schema);

}  // namespace tilewright::testing
