// SPDX-License-Identifier: Apache-2.0
#include "cache/store/sqlite/row_hash.hpp"

#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>
#include <sqlite3.h>
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include <bit>
#include <cstdint>
#include <span>
#include <string>

#include "cache/base/content_hash.hpp"
#include "cache/base/former_hashes.hpp"

namespace tilewright {
namespace {

using Values = std::span<sqlite3_value* const>;

static_assert(std::endian::native == std::endian::little);

/// Adds a value's type, its length if it has one, and its bytes. Not gathered first: a dictionary has 256 KiB.
void add(XXH3_state_t& state, sqlite3_value* value) {
  const auto put = [&](const void* data, std::size_t size) { XXH3_64bits_update(&state, data, size); };
  const int type = sqlite3_value_type(value);
  const char first = static_cast<char>(type);
  put(&first, 1);
  if (type == SQLITE_INTEGER) {
    const std::int64_t integer = sqlite3_value_int64(value);
    put(&integer, sizeof integer);
  } else if (type == SQLITE_FLOAT) {
    const double real = sqlite3_value_double(value);
    put(&real, sizeof real);
  } else if (type != SQLITE_NULL) {
    // Texts too are read as blobs: SQLite would allocate memory to end a text in a zero.
    const void* const data = sqlite3_value_blob(value);
    const std::int32_t size = sqlite3_value_bytes(value);
    put(&size, sizeof size);
    if (size > 0) put(data, static_cast<std::size_t>(size));
  }
}

std::int32_t row_hash(sqlite3_value* table, Values row) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  add(state, table);
  for (sqlite3_value* const value : row) add(state, value);
  return static_cast<std::int32_t>(XXH3_64bits_digest(&state));
}

std::string text_of(sqlite3_value* value) {
  const unsigned char* const text = sqlite3_value_text(value);
  return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
}

/// Reports to SQLite what `answer` throws, which is std::bad_alloc at most.
template <class Answer>
void reply(sqlite3_context* context, Answer answer) noexcept {
  try {
    answer();
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(context);
  }
}

void reply_row_hash(sqlite3_context* context, int count, sqlite3_value** values) {
  reply(context, [&] {
    const Values all(values, static_cast<std::size_t>(count));
    sqlite3_result_int(context, row_hash(all.front(), all.subspan(1)));
  });
}

void reply_is_intact(sqlite3_context* context, int count, sqlite3_value** values) {
  reply(context, [&] {
    const Values all(values, static_cast<std::size_t>(count));
    if (sqlite3_value_int64(all[1]) == row_hash(all.front(), all.subspan(2))) {
      return sqlite3_result_int(context, 1);
    }
    const std::string error = fmt::format("{}row {} of the table {}", kDamagedRow, text_of(all[2]), text_of(all[0]));
    sqlite3_result_error(context, error.c_str(), -1);
  });
}

void reply_content_hash(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  reply(context, [&] {
    if (sqlite3_value_type(*values) == SQLITE_NULL) return;
    const void* const data = sqlite3_value_blob(*values);
    const auto size = static_cast<std::size_t>(sqlite3_value_bytes(*values));
    const std::string hash = content_hash(std::span(static_cast<const std::byte*>(data), size));
    sqlite3_result_text(context, hash.data(), static_cast<int>(hash.size()), SQLITE_TRANSIENT);
  });
}

void reply_current_hash(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  reply(context, [&] {
    const std::string hash = current_hash(text_of(*values));
    sqlite3_result_text(context, hash.data(), static_cast<int>(hash.size()), SQLITE_TRANSIENT);
  });
}

}  // namespace

void add_row_functions(SQLite::Database& database) {
  // Innocuous: a schema that is not trusted may call them; they only compute.
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  const auto add = [&](const char* name, int arguments, auto* function) {
    const int code =
        sqlite3_create_function(database.getHandle(), name, arguments, kFlags, nullptr, function, nullptr, nullptr);
    if (code != SQLITE_OK) throw SQLite::Exception(database.getHandle(), code);
  };
  add("row_hash", -1, reply_row_hash);
  add("is_intact", -1, reply_is_intact);
  add("content_hash", 1, reply_content_hash);
  add("current_hash", 1, reply_current_hash);
}

}  // namespace tilewright
