// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "cache/winner_source.hpp"

namespace tilewright::launch {

/// Opens what a launcher serves from, by what the file is. Throws CacheError when it cannot be used; when other users can
/// write it, unless `allow_shared`: what it holds is code.
[[nodiscard]] std::unique_ptr<WinnerSource> open_source(const std::filesystem::path& path, bool allow_shared);

}  // namespace tilewright::launch
