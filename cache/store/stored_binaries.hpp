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

/// The rows of the table of binaries: of kernels, and of learned models. Throws as the statements of a Database do, and
/// BadRow (codecs.hpp) for content that is not of its hash.
namespace tilewright {

/// The id of the row of that content; nothing where it is not there, or damaged.
[[nodiscard]] std::optional<std::int64_t> whole_binary(Database& database, const std::string& hash);

/// Makes the row of that content, or writes it anew, and returns its id. `hash` and `frame` are content_hash() and
/// compress_binary() of the same bytes; `dictionary` is the row that the frame needs.
std::int64_t put_binary(Database& database, const std::string& hash, std::int64_t size,
                        std::span<const std::byte> frame, std::optional<std::int64_t> dictionary = {});

/// whole_binary(), else put_binary().
std::int64_t add_binary(Database& database, const std::string& hash, std::size_t size,
                        std::span<const std::byte> frame);

/// The content of a row. The columns from `first` on are hash, size, data and dictionary, of a row that is intact.
[[nodiscard]] std::vector<std::byte> read_binary(Database& database, const Query& row, int first = 0);

/// The same by the row's id; BadRow where there is none.
[[nodiscard]] std::vector<std::byte> binary_of(Database& database, std::int64_t id);

}  // namespace tilewright
