// SPDX-License-Identifier: Apache-2.0
#include "cache/store/sqlite/function.hpp"

#include <SQLiteCpp/Exception.h>
#include <sqlite3.h>

namespace tilewright {
namespace {

std::optional<double> number_of(sqlite3_value* value) {
  if (sqlite3_value_type(value) == SQLITE_NULL) return std::nullopt;
  return sqlite3_value_double(value);
}

void reply(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  const auto function = reinterpret_cast<FunctionOfTwo>(sqlite3_user_data(context));
  sqlite3_result_int64(context, function(number_of(values[0]), number_of(values[1])));
}

}  // namespace

void add_function(SQLite::Database& database, const char* name, FunctionOfTwo function) {
  const int code = sqlite3_create_function(database.getHandle(), name, 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                           reinterpret_cast<void*>(function), reply, nullptr, nullptr);
  if (code != SQLITE_OK) throw SQLite::Exception(database.getHandle(), code);
}

}  // namespace tilewright
