// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "cache/store/store.hpp"

/// Opens recordings and shipped winners: a cache file, or one compressed by zstd.
namespace tilewright {

/// Opens a copy of a cache, even of an older schema. A name that ends in `.zst` means one zstd frame around a cache, as
/// the program zstd makes it. Throws Error or CacheError if it is not one.
[[nodiscard]] Store open_recording(const std::filesystem::path& file);

}  // namespace tilewright
