// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Database.h>

#include <cstdint>
#include <optional>

namespace tilewright {

/// A function of two numbers, of which NULL is none. It does not throw.
using FunctionOfTwo = std::int64_t (*)(std::optional<double>, std::optional<double>);

/// Makes it an SQL function of this connection. The same arguments give the same result.
void add_function(SQLite::Database& database, const char* name, FunctionOfTwo function);

}  // namespace tilewright
