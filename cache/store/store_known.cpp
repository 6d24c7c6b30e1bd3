// SPDX-License-Identifier: Apache-2.0
// What the shapes near a problem are asked for.
#include <algorithm>
#include <map>

#include "cache/store/ids.hpp"
#include "cache/store/store_impl.hpp"

namespace tilewright {
namespace {

/// Configs by row id: few, and decoded once each.
using Configs = std::map<std::int64_t, KnownConfig>;

/// The winners of a problem; their configs are added to `configs`.
std::vector<KnownConfig> winners_of(Database& database, std::int64_t problem, std::int64_t device, MeasureMode mode,
                                    Configs& configs) {
  Query query = database.query(
      "SELECT t.config, w.role, t.median_ns, c.text, m.hash FROM winners w JOIN trials t ON t.id = w.trial "
      "JOIN configs c ON c.id = t.config JOIN implementations m ON m.id = c.implementation "
      "WHERE w.problem = ? AND w.device = ? AND w.mode = ? ORDER BY w.position",
      problem, device, name(mode));
  std::vector<KnownConfig> found;
  while (query.next()) {
    const std::int64_t id = query.integer(0);
    if (!configs.contains(id)) configs[id] = {query.text(4), decode_config(query.text(3)), 0, std::nullopt};
    KnownConfig& winner = found.emplace_back(configs[id]);
    winner.role = decode_role(query.text(1));
    winner.median_ns = query.real(2);
  }
  return found;
}

}  // namespace

std::vector<std::vector<std::int64_t>> Store::tuned_shapes(const ProblemKey& key, MeasureMode mode) const {
  return impl_->reading("list tuned shapes", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    std::vector<std::vector<std::int64_t>> shapes;
    const auto interface = ids::find_interface(database, key.interface_hash);
    const auto spec = interface ? ids::find_spec(database, *interface, key.problem.spec) : std::nullopt;
    const auto device = ids::find_device(database, key.device_fingerprint);
    if (!spec || !device) return shapes;
    Query query = database.query(
        "SELECT p.dims FROM winners w JOIN problems p ON p.id = w.problem "
        "WHERE w.spec = ? AND w.device = ? AND w.mode = ? AND w.role = 'best' AND w.position = 0 ORDER BY p.id",
        *spec, *device, name(mode));
    while (query.next()) {
      std::vector<std::int64_t>& shape = shapes.emplace_back();
      for (const auto& dim : decode_dims(query.text(0))) shape.push_back(dim.second);
    }
    return shapes;
  });
}

std::vector<KnownShape> Store::known_shapes(const ProblemKey& key, MeasureMode mode,
                                            const std::vector<std::vector<std::int64_t>>& shapes) const {
  return impl_->reading("read winners", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    std::vector<KnownShape> known;
    const auto device = ids::find_device(database, key.device_fingerprint);
    if (!device) return known;
    Configs configs;
    std::vector<std::int64_t> problems;
    ProblemKey at = key;
    for (const std::vector<std::int64_t>& shape : shapes) {
      for (std::size_t i = 0; i < shape.size(); ++i) at.problem.dims.at(i).second = shape[i];
      const auto problem = ids::find_problem(database, at);
      if (!problem) continue;
      problems.push_back(*problem);
      known.push_back({shape, winners_of(database, *problem, *device, mode, configs)});
    }
    for (std::size_t i = 0; i < known.size(); ++i) {
      for (const auto& [id, config] : configs) {
        // The index ends in the row's id: the newest is its last entry.
        Query query = database.query(
            "SELECT median_ns FROM trials WHERE problem = ? AND device = ? AND mode = ? AND config = ? "
            "AND status = 'ok' AND median_ns IS NOT NULL ORDER BY id DESC LIMIT 1",
            problems[i], *device, name(mode), id);
        const auto is_this = [&config = config](const KnownConfig& other) {
          return other.config == config.config && other.implementation_hash == config.implementation_hash;
        };
        if (std::ranges::any_of(known[i].configs, is_this) || !query.next()) continue;
        known[i].configs.push_back(config);
        known[i].configs.back().median_ns = query.real(0);
      }
    }
    return known;
  });
}

}  // namespace tilewright
