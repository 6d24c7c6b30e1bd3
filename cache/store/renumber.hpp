// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/store/sqlite/database.hpp"

namespace tilewright {

/// Gives each row of each table the id that is its place among the table's rows by all else that they hold. References
/// count as such places, too, so that the same rows have the same ids, whatever cache they come from. Inside a
/// transaction, of a cache that was just made and does not check references. Throws SQLite::Exception.
void renumber(Database& database);

}  // namespace tilewright
