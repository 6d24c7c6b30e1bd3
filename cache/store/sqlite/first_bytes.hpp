// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

/// The first bytes of a file, read through SQLite: a file that turns out to be a cache may be open in this process, and
/// closing another descriptor of it would drop the locks that SQLite holds on it (cache/base/file_facts.hpp). Any
/// thread.
namespace tilewright {

/// The first bytes of a bundle (cache/store/bundle/container.hpp), known here for the error of a caller who takes one
/// for a cache.
inline constexpr std::string_view kBundleMark = "TWbundle";

/// The first bytes, `count` at most; empty where there are fewer, or no file that can be read.
[[nodiscard]] std::string first_bytes(const std::filesystem::path& path, std::size_t count);

}  // namespace tilewright
