// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

/// Files that are one zstd frame around another file, as the program zstd makes them. Throws Error that names the file.
namespace tilewright {

/// Writes the content of `frame` to `to`, block by block: at most 1 GiB, from a window of at most 128 MiB.
void unpack_file(const std::filesystem::path& frame, const std::filesystem::path& to);

/// Packs once what is read often: seconds for ten megabytes. A window of at most 2^27 bytes.
void pack_file(const std::filesystem::path& file, const std::filesystem::path& to);

}  // namespace tilewright
