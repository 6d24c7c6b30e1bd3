// SPDX-License-Identifier: Apache-2.0
// The configs known at the shapes near a problem.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cache/store/ids.hpp"
#include "cache/store/newest.hpp"
#include "cache/store/store_impl.hpp"

namespace tilewright {
namespace {

/// Configs by row id: few, and each decoded once.
using Configs = std::map<std::int64_t, ConfigSummary>;

/// The winners of a problem, then the other configs tried there, each with its newest time or its failure, and its
/// spares, except those that failed somewhere.
std::vector<ConfigSummary> known_at(Database& database, std::int64_t problem, std::int64_t device, MeasureMode mode,
                                    Configs& configs) {
  const auto config_of = [&](const Query& row, int text, int hash) {
    const auto [place, is_new] = configs.try_emplace(row.integer(0));
    if (is_new) place->second = {.id = {row.text(hash), decode_config(row.text(text))}, .role = {}};
    return place->second;
  };
  std::vector<ConfigSummary> found;
  std::set<std::int64_t> winners;
  Query winner = database.query(
      "SELECT t.config, w.role, t.median_ns, c.text, m.hash FROM winners w JOIN trials t ON t.id = w.trial "
      "JOIN configs c ON c.id = t.config JOIN implementations m ON m.id = c.implementation "
      "WHERE w.problem = ? AND w.device = ? AND w.mode = ? AND w.intact AND t.intact AND c.intact AND m.intact "
      "ORDER BY w.position",
      problem, device, name(mode));
  while (winner.next()) {
    winners.insert(winner.integer(0));
    ConfigSummary& known = found.emplace_back(config_of(winner, 3, 4));
    known.role = decode_role(winner.text(1));
    known.median_ns = winner.real(2);
  }
  // A time counts until a later trial fails.
  std::map<std::int64_t, ConfigSummary> others;
  static const std::string kTimed = fmt::format(
      "SELECT t.config, {}, ifnull(t.median_ns, 0), t.build IS NOT NULL, c.text, m.hash, t.status FROM trials t "
      "JOIN configs c ON c.id = t.config JOIN implementations m ON m.id = c.implementation "
      "WHERE t.problem = ? AND t.device = ? AND t.mode = ? AND t.status <> 'pruned' "
      "AND t.intact AND c.intact AND m.intact GROUP BY t.config HAVING t.status <> 'ok' OR t.median_ns IS NOT NULL",
      kNewest);
  Query timed = database.query(kTimed.c_str(), problem, device, name(mode));
  while (timed.next()) {
    if (winners.contains(timed.integer(0))) continue;
    ConfigSummary& known = others.emplace(timed.integer(0), config_of(timed, 4, 5)).first->second;
    known.has_failed = decode_status(timed.text(6)) != TrialStatus::ok;
    if (known.has_failed) continue;
    known.median_ns = timed.real(2);
    known.has_binary = timed.integer(3) != 0;
  }
  static const std::string kSpares = fmt::format(
      "SELECT t.config, c.text, m.hash FROM spares t JOIN configs c ON c.id = t.config "
      "JOIN implementations m ON m.id = c.implementation WHERE t.problem = ? AND t.device = ? AND t.mode = ? "
      "AND t.intact AND c.intact AND m.intact AND NOT {}",
      kFailedSomewhere);
  Query spare = database.query(kSpares.c_str(), problem, device, name(mode));
  while (spare.next()) {
    if (winners.contains(spare.integer(0))) continue;
    ConfigSummary& known = others.try_emplace(spare.integer(0), config_of(spare, 1, 2)).first->second;
    if (!known.has_failed) known.is_spare = known.has_binary = true;
  }
  for (auto& [config, known] : others) found.push_back(std::move(known));
  return found;
}

/// Sorted by extents: the same shape wins a tie, whichever problem came first.
FlatShapes read_tuned(Database& database, const ids::SpecOnDevice& at, MeasureMode mode) {
  std::vector<ShapeDims> tuned;
  Query query = database.query(
      "SELECT p.dims FROM winners w JOIN problems p ON p.id = w.problem "
      "WHERE w.spec = ? AND w.device = ? AND w.mode = ? AND w.role = 'best' AND w.position = 0 "
      "AND w.intact AND p.intact",
      at.spec, at.device, name(mode));
  while (query.next()) tuned.push_back(decode_shape(query.text(0)));
  std::ranges::sort(tuned);
  FlatShapes shapes;
  for (const ShapeDims& shape : tuned) {
    if (shapes.dims == 0) shapes.dims = shape.size();
    if (shape.size() != shapes.dims) throw BadRow("two problems of an op differ in the number of their dims");
    shapes.lengths.insert(shapes.lengths.end(), shape.begin(), shape.end());
  }
  return shapes;
}

/// The median and the floor of a problem's best winner. A median of 0: it has no time that can be read.
std::pair<double, double> read_time(Database& database, std::int64_t problem, std::int64_t device, MeasureMode mode) {
  try {
    Query query = database.query(
        "SELECT t.median_ns, ifnull(t.floor_ns, 0) FROM winners w JOIN trials t ON t.id = w.trial WHERE w.problem = ? "
        "AND w.device = ? AND w.mode = ? AND w.role = 'best' AND w.position = 0 AND t.median_ns > 0 AND w.intact "
        "AND t.intact",
        problem, device, name(mode));
    if (query.next()) return {query.real(0), query.real(1)};
  } catch (const BadRow&) {
    // An expectation rests on the others.
  }
  return {0, 0};
}

}  // namespace

std::vector<std::vector<std::int64_t>> Store::tuned_shapes(const ProblemKey& key, MeasureMode mode) const {
  return impl_->reading("list tuned shapes", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    std::vector<std::vector<std::int64_t>> shapes;
    if (const auto found = ids::find_spec_on_device(database, key)) {
      const FlatShapes flat = read_tuned(database, *found, mode);
      for (std::size_t i = 0; i < flat.count(); ++i) {
        const std::int64_t* first = flat.lengths.data() + i * flat.dims;
        shapes.emplace_back(first, first + flat.dims);
      }
    }
    return shapes;
  });
}

std::vector<std::vector<std::int64_t>> Store::tuned_near(const ProblemKey& key, MeasureMode mode,
                                                         std::size_t most) const {
  return impl_->reading("list tuned shapes", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    const auto found = ids::find_spec_on_device(database, key);
    if (!found) return std::vector<ShapeDims>();
    const FlatShapes& shapes = impl_->keep(&Impl::Kept::shapes, {found->spec, found->device, mode},
                                           [&] { return read_tuned(database, *found, mode); });
    return nearest_of(shapes, shape_of(key.problem), most);
  });
}

std::vector<TimedShape> Store::times_near(const ProblemKey& key, MeasureMode mode, std::size_t most) const {
  return impl_->reading("read times", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    std::vector<TimedShape> near;
    const auto found = ids::find_spec_on_device(database, key);
    if (!found) return near;
    const Impl::Kept::OfSpec spec{found->spec, found->device, mode};
    const FlatShapes& shapes =
        impl_->keep(&Impl::Kept::shapes, spec, [&] { return read_tuned(database, *found, mode); });
    std::map<ShapeDims, std::pair<double, double>>& times = impl_->current().times[spec];
    ProblemKey at = key;
    for (ShapeDims& shape : nearest_of(shapes, shape_of(key.problem), most)) {
      auto time = times.find(shape);
      if (time == times.end()) {
        for (std::size_t i = 0; i < shape.size(); ++i) at.problem.dims.at(i).second = shape[i];
        const auto problem = ids::find_problem(database, at);
        if (!problem) continue;
        time = times.emplace(shape, read_time(database, *problem, found->device, mode)).first;
      }
      const auto [median_ns, floor_ns] = time->second;
      if (median_ns > 0) near.push_back({std::move(shape), median_ns, floor_ns});
    }
    return near;
  });
}

std::vector<ShapeSummary> Store::known_shapes(const ProblemKey& key, MeasureMode mode,
                                              const std::vector<std::vector<std::int64_t>>& shapes) const {
  return impl_->reading("read winners", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    std::vector<ShapeSummary> known;
    const auto device = ids::find_device(database, key.device_fingerprint);
    if (!device) return known;
    Configs configs;
    ProblemKey at = key;
    for (const std::vector<std::int64_t>& shape : shapes) {
      for (std::size_t i = 0; i < shape.size(); ++i) at.problem.dims.at(i).second = shape[i];
      const auto problem = ids::find_problem(database, at);
      if (problem) known.push_back({shape, known_at(database, *problem, *device, mode, configs)});
    }
    return known;
  });
}

ConfigIds Store::failed_configs(const ProblemKey& key, MeasureMode mode) const {
  return impl_->reading("list the failed configs", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    ConfigIds failed;
    const auto interface = ids::find_interface(database, key.interface_hash);
    const auto device = ids::find_device(database, key.device_fingerprint);
    if (!interface || !device) return failed;
    static const std::string kFailed = fmt::format(
        "SELECT DISTINCT m.hash, c.text FROM trials t JOIN configs c ON c.id = t.config "
        "JOIN implementations m ON m.id = c.implementation WHERE t.device = ? AND t.mode = ? AND m.interface = ? "
        "AND t.status NOT IN ('ok', 'pruned') AND t.intact AND c.intact AND m.intact AND {}",
        kFailedSomewhere);
    Query query = database.query(kFailed.c_str(), *device, name(mode), *interface);
    while (query.next()) failed.insert({query.text(0), decode_config(query.text(1))});
    return failed;
  });
}

std::optional<WinnerRow> Store::timed(const ProblemKey& key, MeasureMode mode, const ConfigId& config) const {
  std::optional<WinnerRow> row;
  for (Trial& trial : trials(key, {config.implementation_hash}, mode)) {
    if (trial.config != config.config || trial.status != TrialStatus::ok || !trial.timing) continue;
    row.emplace();
    row->winner.role = WinnerRole::dynamic;
    row->winner.trial = std::move(trial);
  }
  // A timed config may have been compiled anew since, as a spare; a spare that was not timed has only its build.
  if (!row || row->winner.trial.build_key.empty()) {
    const std::string build = build_of_spare(key, mode, config);
    if (!row && build.empty()) return row;
    if (!row) {
      row.emplace();
      row->winner.role = WinnerRole::dynamic;
      row->winner.trial.status = TrialStatus::pruned;
      row->winner.trial.config = config.config;
      row->winner.trial.mode = mode;
    }
    row->winner.trial.build_key = build;
  }
  row->problem = key.problem;
  row->interface_hash = key.interface_hash;
  row->implementation_hash = config.implementation_hash;
  row->mode = mode;
  for (DeviceFacts& device : devices()) {
    if (device.fingerprint() == key.device_fingerprint) row->device = std::move(device);
  }
  return row;
}

void Store::put_spare(const ProblemKey& key, MeasureMode mode, const ConfigId& config, const std::string& build_key) {
  impl_->writing("store a spare", [&, &database = impl_->database] {
    const ids::ProblemIds problem = ids::add_problem(database, key);
    const std::int64_t device = ids::need_device(database, key.device_fingerprint);
    const std::int64_t implementation =
        ids::need_implementation(database, problem.interface, config.implementation_hash);
    database.run(
        "INSERT INTO spares (problem, device, mode, spec, config, build) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (problem, device, mode, config) DO UPDATE SET build = excluded.build WHERE intact",
        problem.problem, device, name(mode), problem.spec, ids::add_config(database, implementation, config.config),
        ids::need_build(database, build_key));
  });
}

std::string Store::build_of_spare(const ProblemKey& key, MeasureMode mode, const ConfigId& config) const {
  return impl_->reading("read a spare", [&, &database = impl_->database]() -> std::string {
    const auto snapshot = database.begin_read();
    const auto interface = ids::find_interface(database, key.interface_hash);
    const auto problem = ids::find_problem(database, key);
    const auto device = ids::find_device(database, key.device_fingerprint);
    const auto implementation =
        interface ? ids::find_implementation(database, *interface, config.implementation_hash) : std::nullopt;
    if (!problem || !device || !implementation) return {};
    Query mark = database.query(
        "SELECT b.key FROM spares s JOIN builds b ON b.id = s.build JOIN configs c ON c.id = s.config "
        "WHERE s.problem = ? AND s.device = ? AND s.mode = ? AND c.implementation = ? AND c.text = ? "
        "AND s.intact AND b.intact AND c.intact",
        *problem, *device, name(mode), *implementation, config.config.text());
    return mark.next() ? mark.text(0) : std::string();
  });
}

}  // namespace tilewright
