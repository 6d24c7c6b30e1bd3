// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/store/binaries.hpp"
#include "cache/store/sqlite/database.hpp"

/// The rows of the table of binaries: of kernels, and of learned models. Functions throw as the statements of a
/// Database do, and BadRow (codecs.hpp) if content does not match its hash.
namespace tilewright {

/// The id of the row of that content; nullopt if it is missing or damaged.
[[nodiscard]] std::optional<std::int64_t> whole_binary(Database& database, const std::string& hash);

/// Makes or overwrites the row of that content, and returns its id. `hash` and `frame` are content_hash() and
/// compress_binary() of the same bytes; `dictionary` is the row that the frame needs.
std::int64_t put_binary(Database& database, const std::string& hash, std::int64_t size,
                        std::span<const std::byte> frame, std::optional<std::int64_t> dictionary = {});

/// whole_binary(), else put_binary().
std::int64_t add_binary(Database& database, const std::string& hash, std::size_t size,
                        std::span<const std::byte> frame);

/// The content of an intact row; its columns from `first` on are hash, size, data and dictionary.
[[nodiscard]] std::vector<std::byte> read_binary(Database& database, const Query& row, int first = 0);

/// The same by the row's id; throws BadRow if there is none.
[[nodiscard]] std::vector<std::byte> binary_of(Database& database, std::int64_t id);

}  // namespace tilewright
