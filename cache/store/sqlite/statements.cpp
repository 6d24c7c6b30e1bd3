// SPDX-License-Identifier: Apache-2.0
#include "cache/store/sqlite/statements.hpp"

namespace tilewright {

std::span<const std::byte> Query::blob(int column) const {
  const SQLite::Column value = statement_.getColumn(column);
  const auto* bytes = static_cast<const std::byte*>(value.getBlob());
  return {bytes, static_cast<std::size_t>(value.getBytes())};
}

std::optional<std::int64_t> Query::maybe_integer(int column) const {
  if (null(column)) return std::nullopt;
  return integer(column);
}

std::optional<int> Query::maybe_small(int column) const {
  if (null(column)) return std::nullopt;
  return small(column);
}

std::optional<double> Query::maybe_real(int column) const {
  if (null(column)) return std::nullopt;
  return real(column);
}

void Query::bind(int index, std::span<const std::byte> value) {
  // A null pointer would bind NULL, which is not an empty blob.
  static constexpr std::byte kNothing{};
  statement_.bindNoCopy(index, static_cast<const void*>(value.empty() ? &kNothing : value.data()),
                        static_cast<int>(value.size()));
}

SQLite::Statement& StatementCache::get(const SQLite::Database& database, const char* sql) {
  std::unique_ptr<SQLite::Statement>& statement = statements_[sql];
  if (!statement) statement = std::make_unique<SQLite::Statement>(database, sql);
  return *statement;
}

}  // namespace tilewright
