// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cache/store/sqlite/database.hpp"

/// What the binaries of an implementation have in common, kept once (zstd's dictionaries). Throws as the statements of
/// a Database do, and BadRow (codecs.hpp) for a damaged binary.
namespace tilewright {

/// Empty where the samples are too few, or share nothing.
[[nodiscard]] std::vector<std::byte> make_dictionary(std::span<const std::vector<std::byte>> samples);

/// Ids of the binaries that trials or spares of an implementation have.
[[nodiscard]] std::vector<std::int64_t> binaries_of(Database& database, std::int64_t implementation);

/// Most of what the binaries of an implementation share is in a hundred of them.
inline constexpr std::size_t kDictionarySamples = 128;

/// Makes the dictionary of an implementation that has none of samples, and returns its id; 0: it has none.
std::int64_t put_dictionary(Database& database, std::int64_t implementation,
                            std::span<const std::vector<std::byte>> samples);

/// Makes the dictionary of an implementation that has none, of its binaries, and returns its id; 0: it has none.
std::int64_t add_dictionary(Database& database, std::int64_t implementation);

}  // namespace tilewright
