// SPDX-License-Identifier: Apache-2.0
#include "cache/serve/winner_source.hpp"

#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cache/base/units.hpp"
#include "cache/predict/losses.hpp"
#include "cache/predict/nearest.hpp"

namespace tilewright {

std::string Pin::text() const {
  const char* const verb = kind == PinKind::pin ? "pinned" : kind == PinKind::ban ? "banned" : "free";
  return fmt::format("{} {}: {}", verb, show_moment(since), reason);
}

std::vector<ShapeDims> WinnerSource::tuned_near(const ProblemKey& key, MeasureMode mode, std::size_t most) const {
  const ShapeDims shape = shape_of(key.problem);
  return nearest_shapes(tuned_shapes(key, mode), shape, most);
}

std::vector<TimedShape> WinnerSource::times_near(const ProblemKey& key, MeasureMode mode, std::size_t most) const {
  std::vector<TimedShape> times;
  ProblemKey at = key;
  for (ShapeDims& shape : tuned_near(key, mode, most)) {
    for (std::size_t i = 0; i < shape.size(); ++i) at.problem.dims[i].second = shape[i];
    const std::optional<WinnerRow> best = winner_of(at, mode, WinnerRole::best);
    if (!best || !best->winner.trial.timing || best->winner.trial.timing->median_ns <= 0) continue;
    const Timing& timing = *best->winner.trial.timing;
    times.push_back({std::move(shape), timing.median_ns, timing.floor_ns});
  }
  return times;
}

std::vector<StoredConfig> servers_of(const std::vector<ShapeSummary>& known) {
  std::vector<StoredConfig> servers;
  ByConfig<bool> taken, failed;
  for (const ShapeSummary& shape : known) {
    for (const ConfigSummary& each : shape.configs) {
      if (each.has_failed) failed.emplace(each.id, true);
    }
  }
  const auto add = [&](const ShapeSummary& shape, const ConfigSummary& each) {
    if (!each.id.config.specialised() && !taken.emplace(each.id, true).second) return;
    servers.push_back({shape.dims, each.role, each.id});
  };
  for (const ShapeSummary& shape : known) {
    std::set<WinnerRole> roles;
    for (const ConfigSummary& each : shape.configs) {
      // The first of a role is its winner. A base serves only if nothing else does.
      if (each.role && *each.role != WinnerRole::base && roles.insert(*each.role).second) add(shape, each);
    }
  }
  for (const ShapeSummary& shape : known) {
    for (const ConfigSummary& each : shape.configs) {
      if (!each.role && each.is_spare && !failed.contains(each.id)) add(shape, each);
    }
  }
  return servers;
}

RecipeOf recipes_of(const WinnerSource& source) {
  const auto recipes = std::make_shared<std::map<std::string, ImplementationRecipe>>();
  return [&source, recipes](const std::string& hash) -> const ImplementationRecipe& {
    if (const auto known = recipes->find(hash); known != recipes->end()) return known->second;
    // A failed read is not remembered.
    auto stored = source.implementation_by_hash(hash);
    return recipes->emplace(hash, stored ? std::move(stored->recipe) : ImplementationRecipe{}).first->second;
  };
}

}  // namespace tilewright
