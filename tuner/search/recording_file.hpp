// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "cache/store/store.hpp"

/// Recordings and shipped winners as files: a cache, or one that zstd has packed.
namespace tilewright {

/// Opens a copy of a cache, of an older schema even. A name that ends in `.zst` is one zstd frame around a cache, as
/// the program zstd makes it. Throws Error or CacheError when it is none.
[[nodiscard]] Store open_recording(const std::filesystem::path& file);

}  // namespace tilewright
