// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tilewright {

/// The content that an implementation's binaries share, for a Compressor: at most `most` bytes, chosen from samples
/// that follow one another. Their first bytes if they are too few to choose from. A pure function.
[[nodiscard]] std::vector<std::byte> dictionary_of(std::span<const std::byte> samples,
                                                   std::span<const std::size_t> sizes, std::size_t most);

}  // namespace tilewright
