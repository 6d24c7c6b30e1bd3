// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/store/sqlite/database.hpp"

namespace tilewright {

/// Gives each row of each table a new id: its place among the table's rows, ordered by their other values. References
/// count as such places too, so that the same rows have the same ids, whichever cache they come from. Call inside a
/// transaction, on a new cache that does not check references. Throws SQLite::Exception.
void renumber(Database& database);

}  // namespace tilewright
