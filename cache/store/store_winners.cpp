// SPDX-License-Identifier: Apache-2.0
// Winners, and the counts and checks over the whole file.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cache/base/content_hash.hpp"
#include "cache/store/ids.hpp"
#include "cache/store/sqlite/tables.hpp"
#include "cache/store/store_impl.hpp"
#include "cache/store/stored_binaries.hpp"

namespace tilewright {
namespace {

constexpr const char* kPutting = "store winners";

/// A winner is served because of its trial, so the trial must be of exactly this problem, and ok.
void require_trial_of(Database& database, const Winner& winner, std::int64_t problem, std::int64_t device,
                      MeasureMode mode) {
  Query query = database.query("SELECT problem = ? AND device = ? AND mode = ?, status FROM trials WHERE id = ?",
                               problem, device, name(mode), winner.trial.id);
  const char* wrong = nullptr;
  if (!query.next()) {
    wrong = "which is not stored";
  } else if (query.integer(0) == 0) {
    wrong = "which is of another problem, device or mode";
  } else if (decode_status(query.text(1)) != TrialStatus::ok) {
    wrong = "which failed";
  }
  if (wrong != nullptr) {
    throw fault(kPutting, database.path(),
                fmt::format("was given a winner that rests on trial {}, {}", winner.trial.id, wrong),
                "Nothing was written. A winner's trial is stored before, with Store::put_trial");
  }
}

std::int64_t last_id(Database& database) {
  Query last = database.query("SELECT ifnull(max(id), 0) FROM winners");
  last.next();
  return last.integer(0);
}

/// Role and trial of the first winner of each role.
std::vector<std::pair<std::string, std::int64_t>> first_of_roles(Database& database, std::int64_t problem,
                                                                 std::int64_t device, MeasureMode mode) {
  std::vector<std::pair<std::string, std::int64_t>> first;
  Query query =
      database.query("SELECT role, trial FROM winners WHERE problem = ? AND device = ? AND mode = ? AND position = 0",
                     problem, device, name(mode));
  while (query.next()) first.emplace_back(query.text(0), query.integer(1));
  return first;
}

/// The row id of the rules that a choice holds; nullopt if nothing is forbidden.
std::optional<std::int64_t> add_rules(Database& database, const Selection& choice) {
  if (choice.forbidden.empty()) return std::nullopt;
  const std::string text = encode_rules(choice);
  const std::string hash = content_hash(text);
  database.run("INSERT INTO rules (hash, text) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING", hash, text);
  Query id = database.query("SELECT id FROM rules WHERE hash = ?", hash);
  id.next();
  return id.integer(0);
}

/// A damaged index can name a row of another problem.
std::optional<WinnerRow> of_problem(WinnerRow row, const ProblemKey& key, bool same_dims) {
  if (row.problem.spec != key.problem.spec || row.interface_hash != key.interface_hash ||
      row.device.fingerprint() != key.device_fingerprint || (same_dims && row.problem.dims != key.problem.dims)) {
    throw BadRow(fmt::format("the winners of {} are of another problem", key.problem.key()));
  }
  return row;
}

/// Reads rows of `winners` w with all that a WinnerRow needs. Devices and specs are few; each is decoded once.
class RowReader {
 public:
  explicit RowReader(Database& database) : database_(database) {}

  /// The columns that read() expects, from tables w, t, c, v, b (codecs.hpp) and p (problems).
  static std::string columns() {
    return fmt::format("w.spec, w.device, w.mode, p.dims, m.hash, {}, {}", kWinnerColumns, kTrialColumns);
  }
  static std::string joins() {
    return fmt::format(
        "JOIN problems p ON p.id = w.problem AND p.intact JOIN trials t ON t.id = w.trial AND t.intact {} "
        "JOIN implementations m ON m.id = c.implementation AND m.intact",
        kTrialJoins);
  }

  WinnerRow read(const Query& row) {
    const Spec& spec = this->spec(row.integer(0));
    return {Problem{spec.spec, decode_dims(row.text(3))},
            spec.interface_hash,
            row.text(4),
            device(row.integer(1)),
            decode_mode(row.text(2)),
            decode_winner(row, 5)};
  }

 private:
  struct Spec {
    OpSpec spec;
    std::string interface_hash;
  };

  const Spec& spec(std::int64_t id) {
    if (const auto known = specs_.find(id); known != specs_.end()) return known->second;
    Query query = database_.query(
        "SELECT s.op, s.dtype, s.attributes, i.hash FROM specs s JOIN interfaces i ON i.id = s.interface "
        "WHERE s.id = ? AND s.intact AND i.intact",
        id);
    if (!query.next()) throw BadRow(fmt::format("winners: there is no spec {}", id));
    return specs_.emplace(id, Spec{decode_spec(query.text(0), query.text(1), query.text(2)), query.text(3)})
        .first->second;
  }

  const DeviceFacts& device(std::int64_t id) {
    if (const auto known = devices_.find(id); known != devices_.end()) return known->second;
    Query query = database_.query("SELECT facts FROM devices WHERE id = ? AND intact", id);
    if (!query.next()) throw BadRow(fmt::format("winners: there is no device {}", id));
    return devices_.emplace(id, decode_facts(query.text(0))).first->second;
  }

  Database& database_;
  std::map<std::int64_t, Spec> specs_;
  std::map<std::int64_t, DeviceFacts> devices_;
};

/// Orders by op, spec and dims; within a problem by device, mode and role.
bool before(const WinnerRow& a, const WinnerRow& b) {
  const auto order = [](const WinnerRow& row) {
    return std::tie(row.problem.spec.op, row.problem.spec.dtype, row.problem.spec.attributes, row.problem.dims,
                    row.device.name, row.mode, row.winner.role);
  };
  return order(a) < order(b);
}

}  // namespace

void Store::put_winners(const ProblemKey& key, MeasureMode mode, const std::vector<Winner>& winners) {
  impl_->writing(kPutting, [&, &database = impl_->database] {
    const ids::ProblemIds problem = ids::add_problem(database, key);
    const std::int64_t device = ids::need_device(database, key.device_fingerprint);
    const std::vector<std::pair<std::string, std::int64_t>> before =
        first_of_roles(database, problem.problem, device, mode);
    // Greater than all ids so far: others see by the last id that winners have changed (winners_state).
    std::int64_t id = last_id(database);
    database.run("DELETE FROM winners WHERE problem = ? AND device = ? AND mode = ?", problem.problem, device,
                 name(mode));
    std::map<WinnerRole, int> positions;
    for (const Winner& winner : winners) {
      require_trial_of(database, winner, problem.problem, device, mode);
      std::optional<std::string> runner_up;
      if (winner.runner_up) runner_up = winner.runner_up->text();
      database.run(
          "INSERT INTO winners (id, problem, device, mode, role, position, spec, trial, measured_at, runner_up, "
          "runner_up_ratio, base_ns, configs_considered, configs_failed, strategy, choice, rules) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?8, (SELECT measured_at FROM trials WHERE id = ?8), ?, ?, ?, ?, ?, ?, ?, ?)",
          ++id, problem.problem, device, name(mode), name(winner.role), positions[winner.role]++, problem.spec,
          winner.trial.id, runner_up, winner.runner_up_ratio, winner.base_ns, winner.configs_considered,
          winner.configs_failed, winner.strategy, encode_choice(winner.choice), add_rules(database, winner.choice));
    }
    for (const auto& [role, trial] : before) {
      database.run(
          "INSERT INTO past_winners (problem, device, mode, role, trial) SELECT ?1, ?2, ?3, ?4, ?5 "
          "WHERE NOT EXISTS (SELECT 1 FROM winners WHERE problem = ?1 AND device = ?2 AND mode = ?3 AND role = ?4 "
          "AND position = 0 AND trial = ?5) ON CONFLICT DO NOTHING",
          problem.problem, device, name(mode), role, trial);
    }
  });
}

std::vector<Winner> Store::winners(const ProblemKey& key, MeasureMode mode) const {
  static const std::string kSql = fmt::format(
      "SELECT {}, {} FROM winners w JOIN trials t ON t.id = w.trial AND t.intact {} "
      "WHERE w.problem = ? AND w.device = ? AND w.mode = ? AND w.intact ORDER BY w.role, w.position",
      kWinnerColumns, kTrialColumns, kTrialJoins);
  return impl_->reading("read winners", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    std::vector<Winner> winners;
    const auto problem = ids::find_problem(database, key);
    const auto device = ids::find_device(database, key.device_fingerprint);
    if (!problem || !device) return winners;
    Query query = database.query(kSql.c_str(), *problem, *device, name(mode));
    while (query.next()) winners.push_back(decode_winner(query, 0));
    std::ranges::stable_sort(winners, {}, &Winner::role);
    return winners;
  });
}

std::vector<Store::FirstServed> Store::served_first(const ProblemKey& key) const {
  // A trial may be served again.
  static const std::string kSql = fmt::format(
      "SELECT w.role, w.now, {} FROM (SELECT problem, device, role, trial, 1 AS now, intact FROM winners "
      "WHERE position = 0 UNION ALL SELECT problem, device, role, trial, 0, intact FROM past_winners h "
      "WHERE NOT EXISTS (SELECT 1 FROM winners s WHERE s.problem = h.problem AND s.device = h.device "
      "AND s.mode = h.mode AND s.role = h.role AND s.position = 0 AND s.trial = h.trial)) w "
      "JOIN trials t ON t.id = w.trial AND t.intact {} WHERE w.problem = ? AND w.device = ? AND w.intact "
      "ORDER BY t.measured_at DESC, w.now DESC, t.id DESC",
      kTrialColumns, kTrialJoins);
  return impl_->reading("read the history of winners", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    std::vector<FirstServed> served;
    const auto problem = ids::find_problem(database, key);
    const auto device = ids::find_device(database, key.device_fingerprint);
    if (!problem || !device) return served;
    Query query = database.query(kSql.c_str(), *problem, *device);
    while (query.next()) served.push_back({decode_role(query.text(0)), query.integer(1) != 0, decode_trial(query, 2)});
    std::ranges::stable_sort(served, {}, [](const FirstServed& one) { return std::pair(one.trial.mode, one.role); });
    return served;
  });
}

std::optional<WinnerRow> Store::winner_of(const ProblemKey& key, MeasureMode mode, WinnerRole role) const {
  static const std::string kSql = fmt::format(
      "SELECT {} FROM winners w {} WHERE w.problem = ? AND w.device = ? AND w.mode = ? AND w.role = ? "
      "AND w.intact ORDER BY w.position LIMIT 1",
      RowReader::columns(), RowReader::joins());
  return impl_->reading("read a winner", [&, &database = impl_->database]() -> std::optional<WinnerRow> {
    const auto snapshot = database.begin_read();
    const auto problem = ids::find_problem(database, key);
    const auto device = ids::find_device(database, key.device_fingerprint);
    if (!problem || !device) return std::nullopt;
    Query query = database.query(kSql.c_str(), *problem, *device, name(mode), name(role));
    if (!query.next()) return std::nullopt;
    return of_problem(RowReader(database).read(query), key, true);
  });
}

std::optional<WinnerRow> Store::newest_of_spec(const ProblemKey& key, MeasureMode mode, WinnerRole role) const {
  // The index ends in these columns: the newest is its last entry.
  static const std::string kSql = fmt::format(
      "SELECT {} FROM winners w {} WHERE w.spec = ? AND w.device = ? AND w.mode = ? AND w.role = ? "
      "AND w.intact ORDER BY w.measured_at DESC, w.trial DESC LIMIT 1",
      RowReader::columns(), RowReader::joins());
  return impl_->reading("read a winner", [&, &database = impl_->database]() -> std::optional<WinnerRow> {
    const auto snapshot = database.begin_read();
    const auto at = ids::find_spec_on_device(database, key);
    if (!at) return std::nullopt;
    Query query = database.query(kSql.c_str(), at->spec, at->device, name(mode), name(role));
    if (!query.next()) return std::nullopt;
    return of_problem(RowReader(database).read(query), key, false);
  });
}

std::vector<WinnerRow> Store::list_winners(const WinnerFilter& filter) const {
  // Two texts, since no index helps "all ops or this one". CROSS JOIN fixes the order: specs first, they are few.
  static const std::string kRest = fmt::format(
      "{} WHERE (?1 = '' OR s.op = ?1) AND (?2 IS NULL OR w.device = ?2) AND (?3 IS NULL OR w.mode = ?3) "
      "AND (?4 IS NULL OR w.role = ?4) AND w.intact",
      RowReader::joins());
  static const std::string kOfOp = fmt::format(
      "SELECT {} FROM specs s CROSS JOIN winners w ON w.spec = s.id {} AND s.op = ?1", RowReader::columns(), kRest);
  static const std::string kOfAll =
      fmt::format("SELECT {} FROM winners w JOIN specs s ON s.id = w.spec {}", RowReader::columns(), kRest);
  return impl_->reading("list winners", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    std::vector<WinnerRow> rows;
    std::optional<std::int64_t> device;
    if (!filter.fingerprint.empty()) {
      device = ids::find_device(database, filter.fingerprint);
      if (!device) return rows;
    }
    std::optional<std::string_view> mode, role;
    if (filter.mode) mode = name(*filter.mode);
    if (filter.role) role = name(*filter.role);
    RowReader reader(database);
    Query query = database.query(filter.op.empty() ? kOfAll.c_str() : kOfOp.c_str(), filter.op, device, mode, role);
    while (query.next()) rows.push_back(reader.read(query));
    std::ranges::stable_sort(rows, before);
    return rows;
  });
}

Store::Counts Store::counts() const {
  return impl_->reading("count the rows", [&, &database = impl_->database] {
    Query query = database.query(
        "SELECT (SELECT count(*) FROM devices), (SELECT count(*) FROM interfaces), (SELECT count(*) FROM "
        "implementations), "
        "(SELECT count(*) FROM problems), (SELECT count(*) FROM configs), (SELECT count(*) FROM trials), "
        "(SELECT count(*) FROM winners), (SELECT count(*) FROM builds), (SELECT count(*) FROM binaries WHERE id NOT IN "
        "(SELECT binary FROM loss_models)), "
        "(SELECT coalesce(sum(length(data)), 0) FROM binaries), (SELECT count(*) FROM sweeps), "
        "(SELECT count(*) FROM misses), (SELECT count(*) FROM loss_models), "
        "(SELECT user_version FROM pragma_user_version)");
    query.next();
    return Counts{query.integer(0),  query.integer(1),  query.integer(2),  query.integer(3), query.integer(4),
                  query.integer(5),  query.integer(6),  query.integer(7),  query.integer(8), query.integer(9),
                  query.integer(10), query.integer(11), query.integer(12), query.small(13)};
  });
}

void Store::check() const {
  impl_->reading("check the cache", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    Query pages = database.query("PRAGMA integrity_check(3)");
    while (pages.next()) {
      if (const std::string line = pages.text(0); line != "ok") throw BadRow(line);
    }
    if (const auto broken = broken_reference(database.handle())) throw BadRow(broken->text());
    for (const std::string& table : table_names(database.handle())) {
      SQLite::Statement rows(database.handle(), fmt::format("SELECT count(*) FROM {} WHERE intact", table));
      rows.executeStep();
    }
    Query binaries = database.query("SELECT hash, size, data, dictionary FROM binaries");
    while (binaries.next()) (void)read_binary(database, binaries);
    check_loss_models(database);
    return true;
  });
}

}  // namespace tilewright
