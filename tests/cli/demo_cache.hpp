// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "cache/store/store.hpp"

/// A cache of a made-up op on a made-up GPU, for read-only commands: `demo` with dims rows and cols, tuned for rows =
/// 1…n and cols = 64.
namespace tilewright::testing {

[[nodiscard]] OpInterface demo_interface();
[[nodiscard]] DeviceFacts demo_device();
/// Fills the cache: the winner of rows = r takes r µs, the base twice as long.
void fill_demo_cache(const std::string& path, std::size_t problems);
/// Copies the rows of the cache at `path` into a new cache of an older schema at `older`.
void make_older_cache(const std::string& path, const std::string& older, std::size_t schema);

}  // namespace tilewright::testing
