// SPDX-License-Identifier: Apache-2.0
// Sweeps, trials, ceilings, compute rates and misses.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "cache/store/ids.hpp"
#include "cache/store/newest.hpp"
#include "cache/store/store_impl.hpp"

namespace tilewright {
namespace {

std::optional<std::int64_t> signed_bits(const std::optional<std::uint64_t>& bits) {
  if (!bits) return std::nullopt;
  return static_cast<std::int64_t>(*bits);
}

bool finite(const Timing& timing) {
  for (const double time : {timing.median_ns, timing.low_ns, timing.high_ns, timing.min_ns, timing.floor_ns}) {
    if (!std::isfinite(time)) return false;
  }
  return std::ranges::all_of(timing.rounds_ns, [](double time) { return std::isfinite(time); });
}

template <class Value, class Part>
std::optional<Value> of(const std::optional<Part>& part, Value Part::*member) {
  if (!part) return std::nullopt;
  return (*part).*member;
}

ComputeRate decode_rate(const Query& row) {
  return {row.real(0), row.text(1), row.text(2), row.integer(3), row.text(4)};
}

struct TrialIds {
  std::int64_t problem, device, config, versions, gpu;
  std::optional<std::int64_t> build, sweep;
};

std::int64_t insert_trial(Database& database, const TrialIds& ids, const Trial& trial) {
  const DeviceReadings& readings = trial.readings;
  database.run(
      "INSERT INTO trials (problem, device, config, mode, status, reason, versions, build, sweep, measured_at, gpu, "
      "median_ns, low_ns, high_ns, min_ns, launches_per_round, input_sets, floor_ns, compared, max_absolute, "
      "max_relative, norm_relative, sm_clock_mhz, memory_clock_mhz, temperature_c, power_mw, throttle_reasons, look, "
      "began_us, set_up_us, verify_us, measure_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ids.problem, ids.device, ids.config, name(trial.mode), name(trial.status), trial.reason, ids.versions, ids.build,
      ids.sweep, trial.measured_at != 0 ? trial.measured_at : now_seconds(), ids.gpu,
      of(trial.timing, &Timing::median_ns), of(trial.timing, &Timing::low_ns), of(trial.timing, &Timing::high_ns),
      of(trial.timing, &Timing::min_ns), of(trial.timing, &Timing::launches_per_round),
      of(trial.timing, &Timing::input_sets), of(trial.timing, &Timing::floor_ns), trial.accuracy ? 1 : 0,
      of(trial.accuracy, &Accuracy::max_absolute), of(trial.accuracy, &Accuracy::max_relative),
      of(trial.accuracy, &Accuracy::norm_relative), readings.sm_clock_mhz, readings.memory_clock_mhz,
      readings.temperature_c, readings.power_mw, signed_bits(readings.throttle_reasons), name(trial.look),
      of(trial.phases, &Phases::began_us), of(trial.phases, &Phases::set_up_us), of(trial.phases, &Phases::verify_us),
      of(trial.phases, &Phases::measure_us));
  const std::int64_t id = database.last_id();
  if (trial.timing && !trial.timing->rounds_ns.empty()) {
    database.run("INSERT INTO rounds (trial, nanoseconds) VALUES (?, ?)", id,
                 std::span<const std::byte>(encode_rounds(trial.timing->rounds_ns)));
  }
  return id;
}

/// Changes whenever a ceiling comes or goes.
std::array<std::int64_t, 3> ceilings_state(Database& database) {
  Query query = database.query("SELECT ifnull(max(id), 0), count(*) FROM ceilings");
  query.next();
  return {query.integer(0), query.integer(1), database.generation()};
}

}  // namespace

std::int64_t Store::begin_sweep(const std::string& command, const std::string& device_fingerprint) {
  return impl_->writing("begin a sweep", [&, &database = impl_->database] {
    database.run("INSERT INTO sweeps (command, device, started_at) VALUES (?, ?, ?)", command,
                 ids::need_device(database, device_fingerprint), now_seconds());
    return database.last_id();
  });
}

void Store::end_sweep(std::int64_t sweep, const std::string& outcome) {
  impl_->writing("end a sweep", [&, &database = impl_->database] {
    database.run("UPDATE sweeps SET ended_at = ?, outcome = ? WHERE id = ?", now_seconds(), outcome,
                 ids::need_sweep(database, sweep));
  });
}

std::int64_t Store::put_trial(const ProblemKey& key, const std::string& implementation_hash, const Trial& trial) {
  constexpr const char* kDoing = "store a trial";
  if (trial.timing && !finite(*trial.timing)) {
    throw fault(kDoing, path(), fmt::format("was given a time of {} that is not a number", trial.config.text()),
                "Nothing was written. A trial that could not be measured has no timing");
  }
  if (trial.status == TrialStatus::pruned && (trial.timing || trial.accuracy)) {
    throw fault(kDoing, path(),
                fmt::format("was given {} as pruned, but with a timing or an accuracy", trial.config.text()),
                "Nothing was written. A config that was tried is not pruned");
  }
  return impl_->writing(kDoing, [&, &database = impl_->database] {
    const ids::ProblemIds problem = ids::add_problem(database, key);
    const std::int64_t implementation = ids::need_implementation(database, problem.interface, implementation_hash);
    TrialIds row{problem.problem,
                 ids::need_device(database, key.device_fingerprint),
                 ids::add_config(database, implementation, trial.config),
                 ids::add_versions(database, trial.versions),
                 ids::add_gpu(database, trial.gpu_uuid),
                 {},
                 {}};
    if (!trial.build_key.empty()) row.build = ids::need_build(database, trial.build_key);
    if (trial.sweep != 0) row.sweep = ids::need_sweep(database, trial.sweep);
    return insert_trial(database, row, trial);
  });
}

std::vector<Trial> Store::trials(const ProblemKey& key, const std::vector<std::string>& implementation_hashes,
                                 MeasureMode mode) const {
  static const std::string kSql =
      fmt::format("SELECT {} FROM trials t {} WHERE t.intact AND t.id IN ({})", kTrialColumns, kTrialJoins,
                  newest_trials("n.problem = ? AND n.device = ? AND n.mode = ? AND "
                                "(SELECT m.implementation FROM configs m WHERE m.id = n.config) = ?"));
  return impl_->reading("list trials", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    std::vector<Trial> trials;
    const auto interface = ids::find_interface(database, key.interface_hash);
    const auto problem = ids::find_problem(database, key);
    const auto device = ids::find_device(database, key.device_fingerprint);
    if (!interface || !problem || !device) return trials;
    for (const std::string& hash : implementation_hashes) {
      const auto implementation = ids::find_implementation(database, *interface, hash);
      if (!implementation) continue;
      Query query = database.query(kSql.c_str(), *problem, *device, name(mode), *implementation);
      while (query.next()) trials.push_back(decode_trial(query, 0));
    }
    std::ranges::sort(trials, {}, &Trial::id);
    return trials;
  });
}

std::vector<Store::Tried> Store::tried(const std::string& op) const {
  return impl_->reading("list the tried implementations", [&, &database = impl_->database] {
    std::vector<Tried> all;
    // Grouped first: a row that trials refer to is checked once, not once a trial.
    Query query = database.query(
        "SELECT t.first, t.problem, t.device, t.mode, m.hash, s.op, s.dtype, s.attributes, p.dims, i.hash, "
        "d.fingerprint FROM (SELECT min(n.id) AS first, n.problem, n.device, n.mode, c.implementation FROM trials n "
        "JOIN configs c ON c.id = n.config WHERE n.problem IN (SELECT o.id FROM problems o JOIN specs q ON "
        "q.id = o.spec WHERE ?1 = '' OR q.op = ?1) GROUP BY n.problem, n.device, n.mode, c.implementation) t "
        "JOIN implementations m ON m.id = t.implementation JOIN problems p ON p.id = t.problem "
        "JOIN specs s ON s.id = p.spec JOIN interfaces i ON i.id = s.interface JOIN devices d ON d.id = t.device "
        "WHERE p.intact AND s.intact AND i.intact AND m.intact AND d.intact ORDER BY t.first",
        op);
    std::map<std::tuple<std::int64_t, std::int64_t, std::string>, std::size_t> places;
    while (query.next()) {
      const auto [place, is_new] = places.try_emplace({query.integer(1), query.integer(2), query.text(3)}, all.size());
      if (is_new) {
        all.push_back({{Problem{decode_spec(query.text(5), query.text(6), query.text(7)), decode_dims(query.text(8))},
                        query.text(9), query.text(10)},
                       decode_mode(query.text(3)),
                       {}});
      }
      all[place->second].implementation_hashes.push_back(query.text(4));
    }
    return all;
  });
}

std::vector<Problem> Store::problems_tried(const std::string& interface_hash, const std::string& device_fingerprint,
                                           MeasureMode mode) const {
  return impl_->reading("list the tried problems", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    std::vector<Problem> problems;
    const auto interface = ids::find_interface(database, interface_hash);
    const auto device = ids::find_device(database, device_fingerprint);
    if (!interface || !device) return problems;
    // CROSS JOIN fixes the order: a look at the index of trials for each problem, none at the trials.
    Query query = database.query(
        "SELECT s.op, s.dtype, s.attributes, p.dims FROM specs s CROSS JOIN problems p ON p.spec = s.id "
        "WHERE s.interface = ? AND EXISTS (SELECT 1 FROM trials t WHERE t.problem = p.id AND t.device = ? AND "
        "t.mode = ?) AND s.intact AND p.intact ORDER BY p.id",
        *interface, *device, name(mode));
    while (query.next()) {
      problems.push_back({decode_spec(query.text(0), query.text(1), query.text(2)), decode_dims(query.text(3))});
    }
    return problems;
  });
}

std::optional<Versions> Store::newest_versions(const std::string& device_fingerprint) const {
  return impl_->reading("read the newest versions", [&, &database = impl_->database]() -> std::optional<Versions> {
    const auto snapshot = database.begin_read();
    const auto device = ids::find_device(database, device_fingerprint);
    if (!device) return std::nullopt;
    // Sorted first: LIMIT -1 keeps SQLite from checking each trial before.
    Query query = database.query(
        "SELECT v.driver, v.compiler, v.tilewright FROM (SELECT id FROM trials WHERE device = ? "
        "ORDER BY measured_at DESC, id DESC LIMIT -1) n CROSS JOIN trials t ON t.id = n.id "
        "CROSS JOIN versions v ON v.id = t.versions WHERE t.intact AND v.intact LIMIT 1",
        *device);
    if (!query.next()) return std::nullopt;
    return Versions{query.small(0), query.text(1), query.text(2)};
  });
}

std::optional<Trial> Store::trial(std::int64_t id) const {
  static const std::string kSql = fmt::format(
      "SELECT {}, r.nanoseconds FROM trials t {} LEFT JOIN rounds r ON r.trial = t.id AND r.intact "
      "WHERE t.id = ? AND t.intact",
      kTrialColumns, kTrialJoins);
  return impl_->reading("read a trial", [&, &database = impl_->database]() -> std::optional<Trial> {
    Query query = database.query(kSql.c_str(), id);
    if (!query.next()) return std::nullopt;
    Trial trial = decode_trial(query, 0);
    if (trial.timing) trial.timing->rounds_ns = decode_rounds(query.blob(kTrialColumnCount));
    return trial;
  });
}

void Store::put_ceiling(const std::string& device_fingerprint, const Ceiling& ceiling) {
  impl_->writing("store a ceiling", [&, &database = impl_->database] {
    database.run(
        "INSERT INTO ceilings (device, mode, bytes, reads, memcpy_ns, copy_op_ns, gpu_uuid, measured_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        ids::need_device(database, device_fingerprint), name(ceiling.mode), ceiling.bytes, ceiling.reads,
        ceiling.memcpy_ns, ceiling.copy_op_ns, ceiling.gpu_uuid,
        ceiling.measured_at != 0 ? ceiling.measured_at : now_seconds());
  });
}

std::optional<Ceiling> Store::ceiling(const std::string& device_fingerprint, std::int64_t bytes, int reads,
                                      MeasureMode mode) const {
  return impl_->reading("read a ceiling", [&, &database = impl_->database]() -> std::optional<Ceiling> {
    const auto device = ids::find_device(database, device_fingerprint);
    if (!device) return std::nullopt;
    Query query = database.query(
        "SELECT memcpy_ns, copy_op_ns, gpu_uuid, measured_at FROM ceilings "
        "WHERE device = ? AND mode = ? AND bytes = ? AND reads = ? AND intact "
        "ORDER BY measured_at DESC, id DESC LIMIT 1",
        *device, name(mode), bytes, reads);
    if (!query.next()) return std::nullopt;
    return Ceiling{bytes, reads, mode, query.maybe_real(0), query.maybe_real(1), query.text(2), query.integer(3)};
  });
}

std::vector<Ceiling> Store::ceilings(const std::string& device_fingerprint) const {
  return impl_->reading("list ceilings", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    auto& [state, known] = impl_->ceilings;
    if (const auto now = ceilings_state(database); state != now) {
      state = now;
      known.clear();
    }
    if (const auto found = known.find(device_fingerprint); found != known.end()) return found->second;
    std::vector<Ceiling> ceilings;
    const auto device = ids::find_device(database, device_fingerprint);
    if (!device) return ceilings;
    Query query = database.query(
        "SELECT bytes, reads, mode, memcpy_ns, copy_op_ns, gpu_uuid, measured_at FROM ceilings "
        "WHERE id IN (SELECT max((measured_at << 31) | id) & 0x7fffffff FROM ceilings WHERE device = ? "
        "GROUP BY mode, bytes, reads) AND intact "
        "ORDER BY mode, bytes, reads",
        *device);
    while (query.next()) {
      ceilings.push_back({query.integer(0), query.small(1), decode_mode(query.text(2)), query.maybe_real(3),
                          query.maybe_real(4), query.text(5), query.integer(6)});
    }
    known.emplace(device_fingerprint, ceilings);
    return ceilings;
  });
}

void Store::put_compute_rate(const std::string& device_fingerprint, const ComputeRate& rate) {
  impl_->writing("store a compute rate", [&, &database = impl_->database] {
    database.run(
        "INSERT INTO compute_rates (device, unit, flops_per_second, config, gpu_uuid, measured_at) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        ids::need_device(database, device_fingerprint), rate.unit, rate.flops_per_second, rate.config, rate.gpu_uuid,
        rate.measured_at != 0 ? rate.measured_at : now_seconds());
  });
}

std::optional<ComputeRate> Store::compute_rate(const std::string& device_fingerprint, std::string_view unit) const {
  return impl_->reading("read a compute rate", [&, &database = impl_->database]() -> std::optional<ComputeRate> {
    const auto device = ids::find_device(database, device_fingerprint);
    if (!device) return std::nullopt;
    Query query = database.query(
        "SELECT flops_per_second, config, gpu_uuid, measured_at, unit FROM compute_rates "
        "WHERE device = ? AND unit = ? AND intact ORDER BY measured_at DESC, id DESC LIMIT 1",
        *device, unit);
    if (!query.next()) return std::nullopt;
    return decode_rate(query);
  });
}

std::vector<ComputeRate> Store::compute_rates(const std::string& device_fingerprint) const {
  return impl_->reading("read compute rates", [&, &database = impl_->database] {
    std::vector<ComputeRate> rates;
    const auto device = ids::find_device(database, device_fingerprint);
    if (!device) return rates;
    Query query = database.query(
        "SELECT flops_per_second, config, gpu_uuid, measured_at, unit FROM compute_rates "
        "WHERE id IN (SELECT max((measured_at << 31) | id) & 0x7fffffff FROM compute_rates "
        "WHERE device = ? GROUP BY unit) AND intact ORDER BY unit",
        *device);
    while (query.next()) rates.push_back(decode_rate(query));
    return rates;
  });
}

std::vector<Miss> Store::list_misses() const {
  return impl_->reading("list the misses", [&, &database = impl_->database] {
    std::vector<Miss> misses;
    Query query = database.query(
        "SELECT shape_key, device_fingerprint, count, first_at, last_at FROM misses "
        "WHERE checksum = row_hash('misses', id, shape_key, device_fingerprint, count, first_at, last_at) "
        "ORDER BY count DESC, shape_key, device_fingerprint");
    while (query.next()) {
      misses.push_back({query.text(0), query.text(1), query.integer(2), query.integer(3), query.integer(4)});
    }
    return misses;
  });
}

}  // namespace tilewright
