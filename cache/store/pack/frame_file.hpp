// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

/// Files that are one zstd frame around another file, as the program zstd makes them. Throw Error that names the file.
namespace tilewright {

/// The content of a frame: at most 1 GiB, with a window of at most 128 MiB. A size that is only claimed takes no
/// memory.
[[nodiscard]] std::string unpacked(const std::filesystem::path& frame);
/// Writes the content to `to`, block by block.
void unpack_file(const std::filesystem::path& frame, const std::filesystem::path& to);

/// The bytes of any file, as they are.
[[nodiscard]] std::string content_of(const std::filesystem::path& file);

/// Packs tightly a file that is read often: seconds for ten megabytes. The window has at most 2^27 bytes.
void pack_file(const std::filesystem::path& file, const std::filesystem::path& to);

}  // namespace tilewright
