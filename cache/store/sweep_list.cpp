// SPDX-License-Identifier: Apache-2.0
#include "cache/store/sweep_list.hpp"

#include <SQLiteCpp/Exception.h>

#include "cache/store/sqlite/database.hpp"
#include "cache/store/sqlite/faults.hpp"

namespace tilewright {

std::vector<StoredSweep> list_sweeps(const std::filesystem::path& cache) {
  Database database(cache, {.access = StoreAccess::read_older});
  database.begin_access();
  try {
    std::vector<StoredSweep> rows;
    Query row = database.query(
        "SELECT s.id, s.command, d.fingerprint, s.started_at, s.ended_at, s.outcome, ifnull(t.trials, 0) FROM sweeps s "
        "JOIN devices d ON d.id = s.device LEFT JOIN (SELECT sweep, count(*) AS trials FROM trials GROUP BY sweep) t "
        "ON t.sweep = s.id WHERE s.intact AND d.intact ORDER BY s.started_at DESC, s.id DESC");
    while (row.next()) {
      rows.push_back({row.integer(0), row.text(1), row.text(2), row.integer(3),
                      row.null(4) ? std::nullopt : std::optional(row.integer(4)), row.null(5) ? "" : row.text(5),
                      row.integer(6)});
    }
    return rows;
  } catch (const SQLite::Exception& refusal) {
    throw fault("list sweeps", cache, refusal, database.busy_timeout());
  }
}

}  // namespace tilewright
