// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

/// The first bytes of a file, read through SQLite. The file may be a cache that is open in this process, and closing
/// another descriptor of it would drop SQLite's locks on it (cache/base/file_facts.hpp). Any thread.
namespace tilewright {

/// The first bytes of a bundle (cache/store/bundle/container.hpp), known here for the error if a bundle is opened as a
/// cache.
inline constexpr std::string_view kBundleMark = "TWbundle";

/// The first `count` bytes; empty if the file is shorter or cannot be read.
[[nodiscard]] std::string first_bytes(const std::filesystem::path& path, std::size_t count);

}  // namespace tilewright
