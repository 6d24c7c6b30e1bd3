// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/cover_choice.hpp"

#include <fmt/format.h>
#include "cache/store/referred.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/export/set_cover.hpp"

namespace tilewright {
namespace {

/// A config with the values of its specialised dims; each has a binary of its own.
using Built = std::pair<ConfigId, std::vector<std::int64_t>>;

struct MeasuredConfig {
  std::string implementation_hash;
  Trial trial;
  Built built;
};

struct Shape {
  ProblemKey key;
  DeviceFacts device;
  /// The stored winners, in their order.
  std::vector<WinnerRow> rows;
  std::vector<MeasuredConfig> measured;
  double best_ns = 0;
};

/// Op, spec, device, mode.
using SpecKey = std::tuple<std::string, std::string, std::string, MeasureMode>;

double median_of(const Trial& trial) { return trial.timing ? trial.timing->median_ns : 0; }

class CoverChoosing {
 public:
  CoverChoosing(const Store& store, double ratio, bool need_binaries)
      : store_(store), ratio_(ratio), need_binaries_(need_binaries) {}

  CoverChoice choose(const std::vector<Shape>& shapes) {
    CoverChoice choice;
    choice.spec = shapes.front().key.problem.spec.text();
    choice.device = shapes.front().key.device_fingerprint;
    choice.mode = shapes.front().rows.front().mode;
    choice.shapes = shapes.size();

    std::map<Built, std::vector<std::size_t>> covers;
    std::set<Built> bases, winners;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      for (const MeasuredConfig& measured : shapes[i].measured) {
        if (median_of(measured.trial) <= ratio_ * shapes[i].best_ns) covers[measured.built].push_back(i);
      }
      for (const WinnerRow& row : shapes[i].rows) {
        const Built own = built(row.implementation_hash, row.winner.trial.config, shapes[i].key.problem);
        winners.insert(own);
        if (row.winner.role == WinnerRole::base) bases.insert(own);
      }
    }
    std::vector<std::size_t> given;
    std::vector<Built> candidates;
    std::vector<std::vector<std::size_t>> sets;
    for (const auto& [id, covered] : covers) {
      if (bases.count(id) > 0) {
        given.insert(given.end(), covered.begin(), covered.end());
      } else {
        candidates.push_back(id);
        sets.push_back(covered);
      }
    }
    const SetCover found = cover(shapes.size(), sets, given);
    std::set<Built> chosen = bases;
    for (const std::size_t place : found.chosen) chosen.insert(candidates[place]);
    while (swap_one(shapes, candidates, bases, ratio_, chosen)) {
    }
    choice.winners = winners.size();
    choice.chosen = chosen.size();
    choice.proven = found.proven;

    double logs = 0;
    for (const Shape& shape : shapes) {
      const double served = add_rows(shape, chosen, choice.rows);
      logs += std::log(served);
      choice.worst_ratio = std::max(choice.worst_ratio, served);
    }
    choice.mean_ratio = std::exp(logs / static_cast<double>(shapes.size()));
    return choice;
  }

  /// Adds the whole measurements of the shape; with need_binaries_, those of stored binaries.
  void measure(Shape& shape, const std::vector<std::string>& implementations) {
    const MeasureMode mode = shape.rows.front().mode;
    for (const std::string& hash : implementations) {
      for (Trial& trial : store_.trials(shape.key, {hash}, mode)) {
        if (trial.status != TrialStatus::ok || !trial.timing || trial.look == LookLength::brief) continue;
        if (need_binaries_ && !has_binary(trial.build_key)) continue;
        Built own = built(hash, trial.config, shape.key.problem);
        shape.measured.push_back({hash, std::move(trial), std::move(own)});
      }
    }
  }

  /// Drops measurements of an implementation before it was edited, and finds the best time of each shape in the trials
  /// that all configs are judged by: a winner was timed several times.
  static void settle(std::vector<Shape>& shapes) {
    std::map<std::string, std::pair<std::int64_t, std::string>> newest;
    for (const Shape& shape : shapes) {
      for (const MeasuredConfig& measured : shape.measured) {
        auto& [id, hash] = newest[measured.trial.config.implementation];
        if (measured.trial.id >= id) std::tie(id, hash) = std::pair(measured.trial.id, measured.implementation_hash);
      }
    }
    for (Shape& shape : shapes) {
      std::erase_if(shape.measured, [&](const MeasuredConfig& measured) {
        return measured.implementation_hash != newest[measured.trial.config.implementation].second;
      });
      for (const MeasuredConfig& measured : shape.measured) {
        const double time = median_of(measured.trial);
        if (shape.best_ns == 0 || time < shape.best_ns) shape.best_ns = time;
      }
    }
    std::erase_if(shapes, [](const Shape& shape) { return shape.measured.empty(); });
  }

 private:
  /// The sum of the logarithms of the shapes' losses; nullopt if one loses too much.
  static std::optional<double> loss(const std::vector<Shape>& shapes, const std::set<Built>& chosen, double ratio) {
    double sum = 0;
    for (const Shape& shape : shapes) {
      double least = std::numeric_limits<double>::infinity();
      for (const MeasuredConfig& measured : shape.measured) {
        if (median_of(measured.trial) < least && chosen.count(measured.built) > 0) least = median_of(measured.trial);
      }
      if (!(least <= ratio * shape.best_ns)) return std::nullopt;
      sum += std::log(least / shape.best_ns);
    }
    return sum;
  }

  /// Replaces a chosen config by another if all shapes stay covered, in less time; false if there is no such exchange.
  static bool swap_one(const std::vector<Shape>& shapes, const std::vector<Built>& candidates,
                       const std::set<Built>& bases, double ratio, std::set<Built>& chosen) {
    constexpr double kLeast = 1e-9;
    const std::optional<double> now = loss(shapes, chosen, ratio);
    if (!now) return false;
    for (const Built& out : std::vector<Built>(chosen.begin(), chosen.end())) {
      if (bases.count(out) > 0) continue;
      for (const Built& in : candidates) {
        if (chosen.count(in) > 0) continue;
        std::set<Built> other = chosen;
        other.erase(out);
        other.insert(in);
        const std::optional<double> then = loss(shapes, other, ratio);
        if (then && *then < *now - kLeast) {
          chosen = std::move(other);
          return true;
        }
      }
    }
    return false;
  }

  Built built(const std::string& hash, const Config& config, const Problem& problem) {
    std::vector<std::int64_t> values;
    if (config.specialised()) {
      auto known = specialised_.find(hash);
      if (known == specialised_.end()) {
        const auto implementation = referred(store_.implementation_by_hash(hash), store_, "an implementation");
        known = specialised_.emplace(hash, implementation.recipe.specialize).first;
      }
      for (const std::string& dim : known->second) values.push_back(problem.dim(dim));
    }
    return {{hash, config}, values};
  }

  bool has_binary(const std::string& key) {
    const auto known = built_.find(key);
    if (known != built_.end()) return known->second;
    const auto build = key.empty() ? std::nullopt : store_.build(key);
    return built_[key] = build && build->ok;
  }

  /// Adds the rows that serve the shape; returns its time over the best.
  double add_rows(const Shape& shape, const std::set<Built>& chosen, std::vector<WinnerRow>& rows) {
    const MeasuredConfig* best = nullptr;
    const MeasuredConfig* dynamic = nullptr;
    for (const MeasuredConfig& measured : shape.measured) {
      if (chosen.count(measured.built) == 0) continue;
      const auto is_faster = [&](const MeasuredConfig* other) {
        return other == nullptr || median_of(measured.trial) < median_of(other->trial);
      };
      if (is_faster(best)) best = &measured;
      if (!measured.trial.config.specialised() && is_faster(dynamic)) dynamic = &measured;
    }
    const WinnerRow& first = shape.rows.front();
    const auto add = [&](WinnerRole role, const MeasuredConfig* measured) {
      if (measured == nullptr) return;
      WinnerRow row = first;
      row.implementation_hash = measured->implementation_hash;
      row.winner.role = role;
      row.winner.trial = measured->trial;
      row.winner.runner_up.reset();
      row.winner.runner_up_ratio.reset();
      row.winner.strategy = "cover";
      rows.push_back(std::move(row));
    };
    add(WinnerRole::best, best);
    add(WinnerRole::dynamic, dynamic);
    for (const WinnerRow& row : shape.rows) {
      if (row.winner.role == WinnerRole::base) rows.push_back(row);
    }
    return best != nullptr && shape.best_ns > 0 ? median_of(best->trial) / shape.best_ns : 1;
  }

  const Store& store_;
  double ratio_;
  bool need_binaries_;
  std::map<std::string, std::vector<std::string>> specialised_;
  std::map<std::string, bool> built_;
};

}  // namespace

std::vector<CoverChoice> choose_cover(const Store& store, double ratio, const WinnerSelection& filter,
                                      bool need_binaries) {
  if (!(ratio >= 1) || !std::isfinite(ratio)) {
    throw UsageError(
        fmt::format("a cover's greatest slowdown is {}: write a ratio of at least 1, such as 1.05", ratio));
  }
  using TriedKey = std::tuple<std::string, std::string, std::string, MeasureMode>;
  const auto tried_key = [](const ProblemKey& key, MeasureMode mode) {
    return TriedKey(key.problem.key(), key.interface_hash, key.device_fingerprint, mode);
  };
  std::map<TriedKey, std::vector<std::string>> tried;
  for (const Store::Tried& each : store.tried()) tried[tried_key(each.key, each.mode)] = each.implementation_hashes;
  CoverChoosing choosing(store, ratio, need_binaries);
  std::map<SpecKey, std::vector<Shape>> specs;
  for (WinnerRow& row : selected_winners(store, filter)) {
    const std::string device = row.device.fingerprint();
    std::vector<Shape>& shapes = specs[{row.problem.spec.op, row.problem.spec.text(), device, row.mode}];
    if (shapes.empty() || shapes.back().key.problem != row.problem) {
      shapes.push_back({ProblemKey{row.problem, row.interface_hash, device}, row.device, {}, {}, 0});
    }
    shapes.back().rows.push_back(std::move(row));
  }
  std::vector<CoverChoice> choices;
  for (auto& [key, shapes] : specs) {
    for (Shape& shape : shapes) {
      choosing.measure(shape, tried[tried_key(shape.key, shape.rows.front().mode)]);
    }
    CoverChoosing::settle(shapes);
    if (!shapes.empty()) choices.push_back(choosing.choose(shapes));
  }
  return choices;
}

}  // namespace tilewright
