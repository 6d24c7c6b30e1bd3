// SPDX-License-Identifier: Apache-2.0
// The space that a cache takes, and its garbage (docs/cache.md, "Space").
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cache/base/file_facts.hpp"
#include "cache/base/units.hpp"
#include "cache/store/space.hpp"
#include "cache/store/sqlite/tables.hpp"
#include "cache/store/store_impl.hpp"
#include "cache/store/stored_binaries.hpp"
#include "cache/store/whole_file.hpp"

namespace tilewright {
namespace {

/// A sweep that has stored nothing for this long was killed: each compile and each config is bounded by less.
constexpr std::int64_t kSilentSeconds = 600;

/// Builds of winners, bases included, of spares, and of pinned configs.
constexpr const char* kServingBuilds =
    "SELECT t.build FROM winners w JOIN trials t ON t.id = w.trial WHERE t.build IS NOT NULL "
    "UNION SELECT build FROM spares "
    "UNION SELECT t.build FROM pins k JOIN problems p ON p.spec = k.spec JOIN trials t ON t.problem = p.id "
    "AND t.device = k.device AND t.config = k.config WHERE k.kind = 'pin' AND t.build IS NOT NULL";

std::int64_t number_of(SQLite::Database& database, const std::string& sql) {
  return database.execAndGet(sql).getInt64();
}

/// An SQL condition: a row's checksum does not match. For any of our tables; `intact` would throw there.
std::string is_damaged(SQLite::Database& database, const std::string& table) {
  SQLite::Statement schema(database, "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?");
  schema.bind(1, table);
  if (!schema.executeStep()) throw BadRow(fmt::format("there is no table {}", table));
  const std::string sql = schema.getColumn(0).getString();
  const std::size_t begin = sql.find("row_hash(");
  return fmt::format("checksum <> {}", sql.substr(begin, sql.find(')', begin) + 1 - begin));
}

/// An SQL expression for the bytes of a row's values.
std::string size_of_row(SQLite::Database& database, const std::string& table) {
  SQLite::Statement columns(database, fmt::format("SELECT name FROM pragma_table_info('{}')", table));
  std::vector<std::string> lengths;
  while (columns.executeStep())
    lengths.push_back(fmt::format("ifnull(length(CAST({} AS BLOB)), 0)", columns.getColumn(0).getString()));
  return fmt::format("{}", fmt::join(lengths, " + "));
}

std::vector<TableSpace> table_spaces(SQLite::Database& database) {
  std::vector<TableSpace> tables;
  for (std::string& name : table_names(database)) tables.push_back({.table = std::move(name)});
  // SQLite may have been built without dbstat.
  const bool can_tell = number_of(database, "SELECT count(*) FROM pragma_module_list WHERE name = 'dbstat'") != 0;
  SQLite::Statement pages(database, can_tell ? "SELECT s.tbl_name, s.type = 'table', sum(d.pgsize) FROM dbstat d JOIN "
                                               "sqlite_schema s ON s.name = d.name WHERE d.aggregate = 1 GROUP BY 1, 2"
                                             : "SELECT 0 WHERE 0");
  while (pages.executeStep()) {
    const auto table = std::ranges::find(tables, pages.getColumn(0).getString(), &TableSpace::table);
    if (table == tables.end()) continue;
    (pages.getColumn(1).getInt() != 0 ? table->bytes : table->index_bytes) = pages.getColumn(2).getInt64();
  }
  for (TableSpace& table : tables) {
    SQLite::Statement rows(database, fmt::format("SELECT count(*), coalesce(sum({}), 0) FROM {}",
                                                 is_damaged(database, table.table), table.table));
    rows.executeStep();
    table.rows = rows.getColumn(0).getInt64();
    table.damaged = rows.getColumn(1).getInt64();
  }
  std::ranges::stable_sort(tables, std::greater(), [](const TableSpace& t) { return t.bytes + t.index_bytes; });
  return tables;
}

void read_binaries(SQLite::Database& database, CacheSpace& space) {
  SQLite::Statement kinds(database,
                          fmt::format("WITH serving AS (SELECT DISTINCT binary FROM builds WHERE id IN ({})) "
                                      "SELECT CASE WHEN id IN (SELECT binary FROM loss_models) THEN 2 "
                                      "WHEN id IN (SELECT binary FROM serving) THEN 0 ELSE 1 END, sum(length(data)) "
                                      "FROM binaries GROUP BY 1",
                                      kServingBuilds));
  while (kinds.executeStep()) {
    const int kind = kinds.getColumn(0).getInt();
    (kind == 2   ? space.model_bytes
     : kind == 0 ? space.serving_bytes
                 : space.other_bytes) = kinds.getColumn(1).getInt64();
  }
}

void read_ops(SQLite::Database& database, CacheSpace& space) {
  SQLite::Statement ops(
      database,
      "SELECT op, (SELECT count(*) FROM problems p JOIN specs s ON s.id = p.spec WHERE s.op = o.op), "
      "(SELECT count(*) FROM trials t JOIN problems p ON p.id = t.problem JOIN specs s ON s.id = p.spec WHERE s.op = "
      "o.op), (SELECT count(*) FROM winners w JOIN specs s ON s.id = w.spec WHERE s.op = o.op) "
      "FROM (SELECT DISTINCT op FROM interfaces) o ORDER BY op");
  while (ops.executeStep()) {
    space.ops.push_back({ops.getColumn(0).getString(), ops.getColumn(1).getInt64(), ops.getColumn(2).getInt64(),
                         ops.getColumn(3).getInt64()});
  }
  SQLite::Statement binaries(
      database,
      fmt::format("WITH used AS (SELECT DISTINCT i.op, d.binary FROM (SELECT config, build FROM trials WHERE build IS "
                  "NOT NULL UNION SELECT config, build FROM spares) t JOIN builds d ON d.id = t.build AND d.binary IS "
                  "NOT NULL JOIN configs c ON c.id = t.config JOIN implementations m ON m.id = c.implementation JOIN "
                  "interfaces i ON i.id = m.interface), serving AS (SELECT DISTINCT binary FROM builds WHERE id IN "
                  "({})) SELECT u.op, sum(length(b.data)), sum(iif(b.id IN (SELECT binary FROM serving), "
                  "length(b.data), 0)) FROM used u JOIN binaries b ON b.id = u.binary GROUP BY u.op",
                  kServingBuilds));
  while (binaries.executeStep()) {
    const auto op = std::ranges::find(space.ops, binaries.getColumn(0).getString(), &OpSpace::op);
    if (op == space.ops.end()) continue;
    op->binary_bytes = binaries.getColumn(1).getInt64();
    op->serving_bytes = binaries.getColumn(2).getInt64();
  }
}

/// Removes garbage from the tables, and counts it.
class Collection {
 public:
  Collection(Database& database, const GarbagePolicy& policy) : database_(database), policy_(policy) {}

  std::vector<Garbage> run() {
    drop_temporary();
    if (policy_.damaged) take_damaged();
    choose_implementations();
    choose_builds();
    take_past_winners();
    take_trials();
    take_builds();
    take("binaries", "binaries", "no build refers to them",
         "SELECT id FROM binaries WHERE id NOT IN (SELECT binary FROM builds WHERE binary IS NOT NULL) "
         "AND id NOT IN (SELECT binary FROM loss_models)");
    take("configs", "configs", "no trial, spare or pin refers to them",
         "SELECT id FROM configs WHERE id NOT IN (SELECT config FROM trials) AND id NOT IN (SELECT config FROM spares) "
         "AND id NOT IN (SELECT config FROM pins)");
    take("dictionaries", "dictionaries", "no binary needs them",
         "SELECT id FROM dictionaries WHERE implementation NOT IN (SELECT id FROM temp.kept_implementation) "
         "AND id NOT IN (SELECT dictionary FROM binaries WHERE dictionary IS NOT NULL)");
    take("implementations", "implementations", "edited since, and no config or dictionary of them is left",
         "SELECT id FROM implementations WHERE id NOT IN (SELECT id FROM temp.kept_implementation) "
         "AND id NOT IN (SELECT implementation FROM configs) AND id NOT IN (SELECT implementation FROM dictionaries)");
    take("rules", "rules", "no winner has them",
         "SELECT id FROM rules WHERE id NOT IN (SELECT rules FROM winners WHERE rules IS NOT NULL)");
    drop_temporary();
    return std::move(garbage_);
  }

 private:
  void exec(const std::string& sql) { database_.handle().exec(sql); }

  void drop_temporary() {
    for (const char* const table : {"garbage", "kept_implementation", "kept_hash", "tried_build", "damaged_trial"}) {
      exec(fmt::format("DROP TABLE IF EXISTS temp.{}", table));
    }
  }

  void choose(const std::string& ids) {
    exec("DROP TABLE IF EXISTS temp.garbage");
    exec("CREATE TEMP TABLE garbage (id INTEGER PRIMARY KEY)");
    exec("INSERT INTO temp.garbage " + ids);
  }

  /// Removes the chosen rows of a table.
  void take_chosen(const std::string& table, const std::string& what, const std::string& why) {
    const char* const id = table == "rounds" ? "trial" : "id";
    SQLite::Statement sum(database_.handle(),
                          fmt::format("SELECT count(*), coalesce(sum({}), 0) FROM main.{} WHERE {} IN (SELECT id FROM "
                                      "temp.garbage)",
                                      size_of_row(database_.handle(), table), table, id));
    sum.executeStep();
    const std::int64_t rows = sum.getColumn(0).getInt64();
    if (rows == 0) return;
    exec(fmt::format("DELETE FROM main.{} WHERE {} IN (SELECT id FROM temp.garbage)", table, id));
    garbage_.push_back({what, why, rows, sum.getColumn(1).getInt64()});
  }

  void take(const std::string& table, const std::string& what, const std::string& why, const std::string& ids) {
    choose(ids);
    take_chosen(table, what, why);
  }

  /// Takes damaged rows. Definitions stay, since nothing here can make them.
  void take_damaged() {
    constexpr const char* kWhy = "damaged";
    for (const char* const table :
         {"rounds", "winners", "past_winners", "spares", "loss_models", "pins", "ceilings", "compute_rates", "misses",
          "jobs", "campaigns", "idempotency_keys", "trials", "builds", "binaries"}) {
      take(table, table, kWhy,
           fmt::format("SELECT {} FROM main.{} WHERE {}", std::string_view(table) == "rounds" ? "trial" : "id", table,
                       is_damaged(database_.handle(), table)));
    }
    choose("SELECT id FROM binaries WHERE 0");
    Query binary = database_.query("SELECT hash, size, data, dictionary, id FROM binaries");
    while (binary.next()) {
      try {
        (void)read_binary(database_, binary);
      } catch (const BadRow&) {
        database_.run("INSERT INTO temp.garbage VALUES (?)", binary.integer(4));
      }
    }
    take_chosen("binaries", "binaries", kWhy);
    constexpr const char* kRests = "refer to damaged rows";
    take("builds", "builds", kRests,
         "SELECT id FROM builds WHERE binary IS NOT NULL AND binary NOT IN (SELECT id FROM binaries)");
    take("loss_models", "models", kRests, "SELECT id FROM loss_models WHERE binary NOT IN (SELECT id FROM binaries)");
    take("spares", "spares", kRests, "SELECT id FROM spares WHERE build NOT IN (SELECT id FROM builds)");
    exec("UPDATE trials SET build = NULL WHERE build IS NOT NULL AND build NOT IN (SELECT id FROM builds)");
    take("winners", "winners", kRests,
         "SELECT w.id FROM winners w LEFT JOIN trials t ON t.id = w.trial WHERE t.build IS NULL");
    take("past_winners", "past winners", kRests,
         "SELECT id FROM past_winners WHERE trial NOT IN (SELECT id FROM trials)");
    take("rounds", "rounds", kRests, "SELECT trial FROM rounds WHERE trial NOT IN (SELECT id FROM trials)");
    take("jobs", "jobs", kRests, "SELECT id FROM jobs WHERE campaign NOT IN (SELECT id FROM campaigns)");
  }

  /// Keeps the implementations in use (those of the sources and of the newest trials), those that nobody has tried yet,
  /// and those of which something serves or was learned.
  void choose_implementations() {
    exec("CREATE TEMP TABLE kept_hash (hash TEXT PRIMARY KEY)");
    for (const std::string& hash : policy_.implementations) keep_hash(hash);
    for (const std::string& hash : implementations_of_models(database_)) keep_hash(hash);
    exec(R"sql(
CREATE TEMP TABLE kept_implementation (id INTEGER PRIMARY KEY);
INSERT INTO kept_implementation
SELECT id FROM implementations WHERE hash IN (SELECT hash FROM temp.kept_hash)
UNION SELECT id FROM implementations
  WHERE id NOT IN (SELECT c.implementation FROM trials t JOIN configs c ON c.id = t.config)
UNION SELECT id FROM
  (SELECT m.id, row_number() OVER (PARTITION BY m.interface, m.name ORDER BY max(t.measured_at) DESC, m.id DESC) AS place
   FROM trials t JOIN configs c ON c.id = t.config JOIN implementations m ON m.id = c.implementation
   JOIN interfaces i ON i.id = m.interface
   WHERE t.status <> 'pruned' AND i.sequence = (SELECT max(o.sequence) FROM interfaces o WHERE o.op = i.op)
   GROUP BY m.id) WHERE place = 1
UNION SELECT c.implementation FROM configs c WHERE c.id IN
  (SELECT t.config FROM winners w JOIN trials t ON t.id = w.trial UNION SELECT config FROM spares
   UNION SELECT config FROM pins))sql");
  }

  void keep_hash(const std::string& hash) {
    database_.run("INSERT INTO temp.kept_hash VALUES (?) ON CONFLICT DO NOTHING", hash);
  }

  /// A build without a trial may belong to work under way.
  void choose_builds() {
    exec(fmt::format("CREATE TEMP TABLE damaged_trial AS SELECT id, build FROM trials WHERE {}",
                     is_damaged(database_.handle(), "trials")));
    exec("CREATE TEMP TABLE tried_build (id INTEGER PRIMARY KEY)");
    exec(
        fmt::format("INSERT INTO temp.tried_build SELECT DISTINCT build FROM trials WHERE build IS NOT NULL "
                    "UNION SELECT id FROM builds WHERE began_us < {}",
                    (now_seconds() - kSecondsOfADay) * 1'000'000));
  }

  void take_past_winners() {
    take("past_winners", "past winners", fmt::format("older than the newest {} of their role", policy_.past_winners),
         fmt::format("SELECT id FROM (SELECT h.id, row_number() OVER (PARTITION BY h.problem, h.device, h.mode, h.role "
                     "ORDER BY t.measured_at DESC, h.id DESC) AS place FROM past_winners h JOIN trials t ON t.id = "
                     "h.trial) WHERE place > {}",
                     policy_.past_winners));
  }

  void take_trials() {
    constexpr const char* kWhy = "of implementations that were edited since and serve nothing";
    choose(
        "SELECT t.id FROM trials t JOIN configs c ON c.id = t.config "
        "WHERE c.implementation NOT IN (SELECT id FROM temp.kept_implementation) "
        "AND t.id NOT IN (SELECT trial FROM winners) AND t.id NOT IN (SELECT trial FROM past_winners)");
    take_chosen("rounds", "rounds", kWhy);
    take_chosen("trials", "trials", kWhy);
  }

  /// A failed build stays as long as its trial does, so that it is not tried again.
  void take_builds() {
    choose(
        fmt::format("SELECT id FROM builds WHERE id IN (SELECT id FROM temp.tried_build) AND id NOT IN ({}) "
                    "AND (ok OR id NOT IN (SELECT build FROM trials WHERE build IS NOT NULL)) "
                    "AND id NOT IN (SELECT build FROM temp.damaged_trial WHERE build IS NOT NULL)",
                    kServingBuilds));
    exec("UPDATE trials SET build = NULL WHERE build IN (SELECT id FROM temp.garbage)");
    take_chosen("builds", "builds", "no winner, base, spare or pin uses them; compiled again when needed");
  }

  Database& database_;
  const GarbagePolicy& policy_;
  std::vector<Garbage> garbage_;
};

/// Throws if a sweep may be running: the rows that it has looked up must stay, and it must not wait.
void require_no_sweep(Database& database) {
  Query sweep = database.query(
      "SELECT s.command, max(s.started_at, ifnull((SELECT max(t.measured_at) FROM trials t WHERE t.sweep = s.id), 0), "
      "ifnull((SELECT max(b.began_us) / 1000000 FROM builds b WHERE b.sweep = s.id), 0)) AS last FROM sweeps s "
      "WHERE s.ended_at IS NULL AND last > ? ORDER BY last DESC LIMIT 1",
      now_seconds() - kSilentSeconds);
  if (!sweep.next()) return;
  throw fault("collect garbage", database.path(),
              fmt::format("is written by a sweep ({}), which stored something at {} and has not ended", sweep.text(0),
                          show_moment(sweep.integer(1))),
              fmt::format("Nothing was removed. Wait until it ends, or, if it was killed, until {}",
                          show_moment(sweep.integer(1) + kSilentSeconds)),
              0, CacheFault::locked);
}

}  // namespace

CacheSpace WholeFile::space(const Store& store) {
  return store.impl_->reading("measure the use of space", [&, &database = store.impl_->database] {
    const auto snapshot = database.begin_read();
    SQLite::Database& handle = database.handle();
    CacheSpace space;
    const std::int64_t page = number_of(handle, "PRAGMA page_size");
    space.schema = static_cast<int>(number_of(handle, "PRAGMA user_version"));
    space.file_bytes = page * number_of(handle, "PRAGMA page_count");
    space.free_bytes = page * number_of(handle, "PRAGMA freelist_count");
    std::error_code none;
    const auto log = std::filesystem::file_size(wal_of(store.path()), none);
    space.log_bytes = none ? 0 : static_cast<std::int64_t>(log);
    space.first_trial = number_of(handle, "SELECT ifnull(min(measured_at), 0) FROM trials");
    space.last_trial = number_of(handle, "SELECT ifnull(max(measured_at), 0) FROM trials");
    space.tables = table_spaces(handle);
    read_binaries(handle, space);
    read_ops(handle, space);
    return space;
  });
}

std::vector<Garbage> WholeFile::collect_garbage(Store& store, const GarbagePolicy& policy) {
  constexpr const char* kDoing = "collect garbage";
  Store::Impl& impl = *store.impl_;
  if (impl.in_batch || !impl.writable) {
    throw fault(kDoing, store.path(), "has a batch of writes that has not ended, or was opened for reading only",
                "Nothing was removed. Open it with StoreAccess::write");
  }
  Database& database = impl.database;
  const ForeignKeysOff unchecked(database.handle());
  return impl.reading(kDoing, [&] {
    Transaction transaction = database.begin_write();
    require_no_sweep(database);
    std::vector<Garbage> garbage = Collection(database, policy).run();
    if (const auto broken = broken_reference(database.handle())) throw BadRow(broken->text());
    if (!policy.dry_run) transaction.commit();
    return garbage;
  });
}

void WholeFile::compact(Store& store) {
  store.impl_->reading("make the cache smaller", [&, &database = store.impl_->database] {
    database.handle().exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  });
}

}  // namespace tilewright
