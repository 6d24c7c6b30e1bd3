// SPDX-License-Identifier: Apache-2.0
// The whole history in a handful of scans: a query for each trial would take minutes, this takes a second.
#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "cache/store/history.hpp"
#include "cache/store/newest.hpp"
#include "cache/store/store_impl.hpp"

namespace tilewright {
namespace {

void read_texts(Database& database, const std::string& op, History& history) {
  Query specs = database.query(
      "SELECT s.id, s.op, s.dtype, s.attributes, i.hash FROM specs s JOIN interfaces i ON i.id = s.interface "
      "WHERE (?1 = '' OR s.op = ?1) AND s.intact AND i.intact",
      op);
  while (specs.next()) {
    history.specs.emplace(specs.integer(0),
                          History::Spec{decode_spec(specs.text(1), specs.text(2), specs.text(3)), specs.text(4)});
  }
  Query problems = database.query("SELECT id, spec, dims FROM problems WHERE intact");
  while (problems.next()) {
    if (history.specs.count(problems.integer(1)) == 0) continue;
    history.problems.emplace(problems.integer(0),
                             History::ProblemOf{problems.integer(1), decode_dims(problems.text(2))});
  }
  Query devices = database.query("SELECT id, facts FROM devices WHERE intact");
  while (devices.next()) history.devices.emplace(devices.integer(0), decode_facts(devices.text(1)));
}

/// Each text once, the empty one first.
class Texts {
 public:
  explicit Texts(std::vector<std::string>& texts) : texts_(texts) { place(""); }
  std::int32_t place(const std::string& text) {
    const auto [place, is_new] = places_.try_emplace(text, static_cast<std::int32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return place->second;
  }

 private:
  std::vector<std::string>& texts_;
  std::unordered_map<std::string, std::int32_t> places_;
};

void mark_newest(Database& database, std::vector<History::TrialOf>& trials) {
  std::unordered_set<std::int64_t> newest;
  static const std::string kSql = newest_trials("1");
  Query query = database.query(kSql.c_str());
  while (query.next()) newest.insert(query.integer(0));
  for (History::TrialOf& trial : trials) trial.newest = newest.contains(trial.id);
}

void read_trials(Database& database, History& history) {
  Texts reasons(history.reasons), gpus(history.gpus);
  Query query = database.query(
      "SELECT t.id, t.problem, t.device, t.config, t.build, t.sweep, t.measured_at, t.median_ns, t.low_ns, t.high_ns, "
      "t.reason, t.launches_per_round, length(r.nanoseconds) / 8, t.mode, t.status, t.look, t.began_us, "
      "t.set_up_us, t.verify_us, t.measure_us, g.uuid "
      "FROM trials t JOIN gpus g ON g.id = t.gpu LEFT JOIN rounds r ON r.trial = t.id WHERE t.intact AND g.intact "
      "ORDER BY t.id");
  while (query.next()) {
    if (history.problems.count(query.integer(1)) == 0) continue;
    history.trials.push_back({query.integer(0), query.integer(1), query.integer(2), query.integer(3), query.integer(4),
                              query.integer(5), query.integer(6), query.real(7), query.real(8), query.real(9),
                              Phases{query.integer(16), query.integer(17), query.integer(18), query.integer(19)},
                              gpus.place(query.text(20)), reasons.place(query.text(10)), query.small(11),
                              query.small(12), decode_mode(query.text(13)), decode_status(query.text(14)),
                              decode_look(query.text(15)), false});
  }
  mark_newest(database, history.trials);
}

History::BuildOf build_of(const Query& row) {
  Build build;
  build.ok = row.integer(1) != 0;
  build.milliseconds = row.real(2);
  build.kernels = decode_kernels(row.text(3));
  build.sweep = row.integer(4);
  build.worker = row.small(5);
  build.began_us = row.integer(6);
  return tilewright::build_of(build);
}

/// Reads the configs, builds and sweeps that trials name, and the other builds of those sweeps.
void read_what_was_tried(Database& database, History& history) {
  std::set<std::int64_t> configs, builds, sweeps;
  for (const History::TrialOf& trial : history.trials) {
    configs.insert(trial.config);
    builds.insert(trial.build);
    sweeps.insert(trial.sweep);
  }
  Query config = database.query(
      "SELECT c.id, c.text, m.hash FROM configs c JOIN implementations m ON m.id = c.implementation "
      "WHERE c.intact AND m.intact");
  while (config.next()) {
    if (configs.count(config.integer(0)) == 0) continue;
    history.configs.emplace(config.integer(0), History::ConfigOf{config.text(1), config.text(2)});
  }
  Query build =
      database.query("SELECT id, ok, milliseconds, kernels, sweep, worker, began_us FROM builds WHERE intact");
  while (build.next()) {
    if (builds.count(build.integer(0)) == 0 && (build.null(4) || sweeps.count(build.integer(4)) == 0)) continue;
    history.builds.emplace(build.integer(0), build_of(build));
  }
  Query sweep = database.query("SELECT id, command, device, started_at, ended_at, outcome FROM sweeps WHERE intact");
  while (sweep.next()) {
    if (sweeps.count(sweep.integer(0)) == 0) continue;
    history.sweeps.emplace(sweep.integer(0), History::Sweep{sweep.text(1), sweep.integer(2), sweep.integer(3),
                                                            sweep.maybe_integer(4), sweep.text(5)});
  }
}

}  // namespace

History::BuildOf build_of(const Build& build) {
  History::BuildOf short_form{
      build.ok, 0, 0, build.milliseconds, build.sweep, build.worker.value_or(0), build.began_us.value_or(0)};
  for (const KernelFacts& kernel : build.kernels) {
    short_form.registers = std::max(short_form.registers, kernel.registers);
    short_form.spill_bytes += kernel.spill_store_bytes + kernel.spill_load_bytes;
  }
  return short_form;
}

History Store::history(const std::string& op) const {
  return impl_->reading("read the trials", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    History history;
    read_texts(database, op, history);
    read_trials(database, history);
    read_what_was_tried(database, history);
    return history;
  });
}

}  // namespace tilewright
