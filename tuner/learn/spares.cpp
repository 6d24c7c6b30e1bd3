// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/spares.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cache/model/domain.hpp"
#include "cache/plan/plan.hpp"
#include "cache/predict/model_predictor.hpp"
#include "tuner/learn/drawn_shapes.hpp"

namespace tilewright {
namespace {

/// Shapes drawn for each spare, and the bounds of their number.
constexpr std::size_t kShapesEach = 8;
constexpr std::size_t kFewestShapes = 64;
constexpr std::size_t kMostShapes = 16384;
/// One in kOneAroundOf shapes may lie beyond the tuned range, by a factor kBeyond: applications use few such shapes.
constexpr std::size_t kOneAroundOf = 4;
constexpr double kBeyond = 4;
constexpr std::uint64_t kSeedAround = 1;
/// Drawn shapes that are searched for poorly served ones, and as many of these as suffice.
constexpr std::size_t kShapesToCover = 2048;
constexpr std::size_t kEnoughPoor = 256;
constexpr std::uint64_t kSeedToCover = 2;

/// The mean loss of the base at the shapes where it was timed.
double loss_of_base(const std::vector<ShapeSummary>& shapes) {
  double sum = 0;
  std::size_t count = 0;
  for (const ShapeSummary& shape : shapes) {
    const auto time_of = [&](WinnerRole role) {
      const auto found = std::ranges::find(shape.configs, role, &ConfigSummary::role);
      return found == shape.configs.end() ? 0.0 : found->median_ns;
    };
    const double best = time_of(WinnerRole::best);
    const double base = time_of(WinnerRole::base);
    if (best <= 0 || base <= 0) continue;
    sum += std::log(base / best);
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

class SpareChoosing {
 public:
  SpareChoosing(const WinnerSource& source, const OpInterface& interface, const OpSpec& spec, const DeviceFacts& device,
                MeasureMode mode, const SpaceValues& space, const ConfigIds& failed)
      : source_(source),
        interface_(interface),
        spec_(spec),
        device_(device),
        mode_(mode),
        space_(space),
        failed_(failed),
        refused_(failed) {
    for (const auto& [hash, values] : space) {
      if (auto stored = source_.implementation_by_hash(hash)) {
        implementations_.push_back({hash, std::move(stored->recipe), values});
      }
    }
  }

  std::vector<Spare> run(const std::vector<ShapeDims>& range, SpareCounts counts) {
    const ProblemKey key{problem_of(interface_, spec_, ShapeDims(interface_.dims.size(), 1)), interface_.hash(),
                         device_.fingerprint()};
    const std::vector<ShapeDims> tuned = source_.tuned_shapes(key, mode_);
    if (tuned.empty() || range.empty() || counts.helpful + counts.filled + counts.covering == 0) return {};
    std::vector<ShapeSummary> shapes = source_.known_shapes(key, mode_, tuned);
    unserved_ = std::max(kPoorLoss, loss_of_base(shapes));
    for (const ShapeSummary& shape : shapes) {
      for (const ConfigSummary& each : shape.configs) note(each);
    }
    nearly_best_ = not_kept(nearly_best(shapes, space_, failed_), shapes);
    for (ShapeSummary& shape : shapes) known_.emplace(shape.dims, std::move(shape));
    const std::size_t count = std::clamp(kShapesEach * counts.helpful, kFewestShapes, kMostShapes);
    const std::size_t around = count / kOneAroundOf;
    learned_ = source_.learned(key, mode_);
    if (learned_) {
      const std::vector<std::string>& judged = learned_->model->space().implementations;
      std::erase_if(implementations_,
                    [&](const Known& each) { return std::ranges::find(judged, each.hash) == judged.end(); });
    }
    for (const ShapeDims& shape : drawn(range, count - around, 1, 0)) expect(tuned, shape);
    for (const ShapeDims& shape : drawn(range, around, kBeyond, kSeedAround)) expect(tuned, shape);
    std::vector<Spare> chosen;
    const auto choose = [&](std::size_t up_to, bool poor_only) {
      while (chosen.size() < up_to) {
        // The first few also serve rare shapes.
        const double least = chosen.size() < counts.filled ? 0 : kLeastHelp;
        const std::optional<std::size_t> best = most_helpful(poor_only, least);
        if (!best) break;
        const ShapeDims& shape = shapes_[where_it_helps(*best)];
        chosen.push_back(
            {candidates_[*best], problem_of(interface_, spec_, shape), nearest_shapes(tuned, shape, 1).front()});
        take(*best);
      }
    };
    choose(counts.helpful, false);
    add_nearly_best(chosen, counts.filled);
    if (learned_ && counts.covering > 0) {
      look_for_poor(drawn(range, kShapesToCover, 1, kSeedToCover));
      choose(chosen.size() + counts.covering, true);
    }
    return chosen;
  }

 private:
  struct Known {
    std::string hash;
    ImplementationRecipe recipe;
    SeenValues values;
  };
  /// The predicted loss of a candidate at a drawn shape.
  struct Expected {
    std::size_t candidate = 0;
    double loss = 0;
  };
  static bool is_good(const Expected& expected) { return expected.loss < kPoorLoss; }

  [[nodiscard]] std::vector<ShapeDims> drawn(const std::vector<ShapeDims>& range, std::size_t count, double beyond,
                                             std::uint64_t seed) const {
    std::vector<ShapeDims> shapes;
    for (const ShapeDims& shape : draw_shapes(range, count, beyond, seed)) {
      if (auto inside = dims_in_domain(spec_, interface_, shape)) shapes.push_back(*std::move(inside));
    }
    return shapes;
  }

  /// An empty recipe if the space no longer has the implementation.
  const ImplementationRecipe& recipe(const std::string& hash) const {
    static const ImplementationRecipe kNone;
    const auto found = std::ranges::find(implementations_, hash, &Known::hash);
    return found == implementations_.end() ? kNone : found->recipe;
  }

  void note(const ConfigSummary& each) {
    if (each.role == WinnerRole::base) return void(refused_.insert(each.id));
    if ((each.role || each.is_spare) && !each.id.config.specialised()) kept_.insert(each.id);
  }

  /// Predicts the loss of each launchable config at a shape: by the learned model, or else by the nearest shapes.
  void expect(const std::vector<ShapeDims>& tuned, const ShapeDims& shape) {
    add_shape(shape);
    const Problem problem = problem_of(interface_, spec_, shape);
    if (learned_) {
      const ModelPredictor model(*learned_->model, interface_, problem, device_, recipe_of_);
      std::set<std::string> judged = note_expected(learned_configs(), model);
      // None of the timed configs is good here, or none of an implementation can be launched: others of the space may.
      if (loss_.back() >= kPoorLoss && std::ranges::none_of(expected_.back(), is_good)) {
        expected_.back().clear();
        judged.clear();
      }
      note_expected(launchable(problem, judged), model);
      return;
    }
    std::vector<ShapeSummary> around;
    for (const ShapeDims& each : nearest_shapes(tuned, shape)) {
      if (const auto known = known_.find(each); known != known_.end()) around.push_back(known->second);
    }
    note_expected(launchable(problem), NearestPredictor(around, shape, log_padding(recipe_of_, problem, device_)));
  }

  void add_shape(const ShapeDims& shape) {
    shapes_.push_back(shape);
    expected_.emplace_back();
    loss_.push_back(unserved_);
  }

  /// Adds the shapes at which nothing that has a binary, or was chosen, is good, with all that can be launched there.
  void look_for_poor(const std::vector<ShapeDims>& shapes) {
    std::vector<const ConfigId*> there;
    for (const ConfigId& config : kept_) there.push_back(&config);
    std::size_t poor = 0;
    for (const ShapeDims& shape : shapes) {
      if (poor == kEnoughPoor) break;
      const Problem problem = problem_of(interface_, spec_, shape);
      const ModelPredictor model(*learned_->model, interface_, problem, device_, recipe_of_);
      const auto losses = model.losses(there);
      if (std::ranges::any_of(losses, [](const auto& loss) { return loss && *loss < kPoorLoss; })) continue;
      ++poor;
      add_shape(shape);
      note_expected(launchable(problem), model);
    }
  }

  [[nodiscard]] std::vector<ConfigId> learned_configs() const {
    std::vector<ConfigId> configs;
    for (const auto& [implementation, config] : learned_->model->configs()) {
      if (!config.specialised()) configs.push_back({learned_->model->space().implementations[implementation], config});
    }
    return configs;
  }

  /// All configs that can be launched, of the implementations that are not `judged`.
  [[nodiscard]] std::vector<ConfigId> launchable(const Problem& problem,
                                                 const std::set<std::string>& judged = {}) const {
    std::vector<ConfigId> configs;
    for (const Known& known : implementations_) {
      if (judged.contains(known.hash)) continue;
      for (Config& config : combinations(known.recipe, known.values, problem, device_)) {
        if (config.specialised() ||
            std::holds_alternative<Illegal>(make_plan(interface_, known.recipe, config, problem, device_))) {
          continue;
        }
        configs.push_back({known.hash, std::move(config)});
      }
    }
    return configs;
  }

  /// Notes the losses at the newest shape of expected_. Returns the implementations of configs that have one.
  std::set<std::string> note_expected(const std::vector<ConfigId>& configs, const Predictor& predictor) {
    std::vector<const ConfigId*> asked;
    for (const ConfigId& config : configs) asked.push_back(&config);
    const std::vector<std::optional<double>> losses = predictor.losses(asked);
    std::set<std::string> judged;
    for (std::size_t i = 0; i < configs.size(); ++i) {
      if (!losses[i] || refused_.contains(configs[i])) continue;
      note_expected(configs[i], *losses[i]);
      judged.insert(configs[i].implementation_hash);
    }
    return judged;
  }

  void note_expected(const ConfigId& config, double loss) {
    if (kept_.contains(config)) {
      loss_.back() = std::min(loss_.back(), loss);
      return;
    }
    const auto [place, is_new] = places_.try_emplace(config, candidates_.size());
    if (is_new) candidates_.push_back(config);
    expected_.back().push_back({place->second, loss});
  }

  /// `poor_only`: at shapes that are served poorly so far.
  std::optional<std::size_t> most_helpful(bool poor_only, double least_help) const {
    // At poorly served shapes what is hardly better is no help.
    const double least = poor_only ? kNearlyBest : 1e-6;
    const double least_of_all = poor_only ? least : std::max(least, least_help * static_cast<double>(shapes_.size()));
    std::vector<double> gains(candidates_.size(), 0);
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      if (poor_only && loss_[i] < kPoorLoss) continue;
      for (const Expected& each : expected_[i]) {
        const double gain = loss_[i] - each.loss;
        if (gain >= least) gains[each.candidate] += gain;
      }
    }
    const auto best = std::ranges::max_element(gains);
    if (best == gains.end() || *best < least_of_all) return std::nullopt;
    return static_cast<std::size_t>(best - gains.begin());
  }

  std::size_t where_it_helps(std::size_t candidate) const {
    std::size_t where = 0;
    double most = -1;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      for (const Expected& each : expected_[i]) {
        if (each.candidate != candidate || loss_[i] - each.loss <= most) continue;
        most = loss_[i] - each.loss;
        where = i;
      }
    }
    return where;
  }

  void take(std::size_t candidate) {
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      for (const Expected& each : expected_[i]) {
        if (each.candidate == candidate) loss_[i] = std::min(loss_[i], each.loss);
      }
    }
    kept_.insert(candidates_[candidate]);
  }

  void add_nearly_best(std::vector<Spare>& chosen, std::size_t most) {
    ConfigIds taken;
    for (const Spare& each : chosen) taken.insert(each.id);
    std::vector<const NearlyBest::value_type*> ranked;
    for (const NearlyBest::value_type& each : nearly_best_) {
      if (!taken.contains(each.first)) ranked.push_back(&each);
    }
    std::ranges::stable_sort(ranked, std::greater(), [](const auto* each) { return each->second.size(); });
    for (const auto* const each : ranked) {
      if (chosen.size() >= most) break;
      const ShapeDims& home = each->second.front();
      chosen.push_back({each->first, problem_of(interface_, spec_, home), home});
      if (const auto place = places_.find(each->first); place != places_.end()) take(place->second);
      kept_.insert(each->first);
    }
  }

  const WinnerSource& source_;
  const OpInterface& interface_;
  const OpSpec& spec_;
  const DeviceFacts& device_;
  MeasureMode mode_;
  const SpaceValues& space_;
  const ConfigIds& failed_;
  const RecipeOf recipe_of_ = [this](const std::string& hash) -> const ImplementationRecipe& { return recipe(hash); };
  /// The loss of a shape that only the base serves.
  double unserved_ = kPoorLoss;
  /// Null if nothing was learned.
  std::shared_ptr<const Learned> learned_;
  std::vector<Known> implementations_;
  std::map<ShapeDims, ShapeSummary> known_;
  /// Without winners and spares.
  NearlyBest nearly_best_;
  /// Bases, and configs that failed somewhere.
  ConfigIds refused_;
  /// Winners and spares, which have binaries already.
  ConfigIds kept_;
  /// The drawn shapes; for each the predicted losses of candidates, and the least loss among configs taken so far.
  std::vector<ShapeDims> shapes_;
  std::vector<std::vector<Expected>> expected_;
  std::vector<double> loss_;
  std::vector<ConfigId> candidates_;
  std::unordered_map<ConfigId, std::size_t> places_;
};

}  // namespace

SpaceValues values_seen(const WinnerSource& source, const std::vector<ShapeSummary>& known) {
  SpaceValues values;
  std::map<std::string, ImplementationRecipe> recipes;
  for (const ShapeSummary& shape : known) {
    for (const ConfigSummary& each : shape.configs) {
      const auto [recipe, is_new] = recipes.try_emplace(each.id.implementation_hash);
      if (is_new) {
        if (auto stored = source.implementation_by_hash(each.id.implementation_hash)) recipe->second = stored->recipe;
      }
      see(recipe->second, each.id.config, values[each.id.implementation_hash]);
    }
  }
  return values;
}

NearlyBest nearly_best(const std::vector<ShapeSummary>& known, const SpaceValues& space, const ConfigIds& failed) {
  std::map<ConfigId, std::vector<std::pair<double, ShapeDims>>> losses;
  for (const ShapeSummary& shape : known) {
    double best = std::numeric_limits<double>::infinity();
    const auto counts = [&](const ConfigSummary& each) {
      return each.was_timed() && !each.id.config.specialised() && space.contains(each.id.implementation_hash) &&
             !failed.contains(each.id);
    };
    for (const ConfigSummary& each : shape.configs) {
      if (counts(each)) best = std::min(best, each.median_ns);
    }
    for (const ConfigSummary& each : shape.configs) {
      if (!counts(each)) continue;
      const double loss = std::log(each.median_ns / best);
      if (loss > kNearlyBest) continue;
      losses[each.id].emplace_back(loss, shape.dims);
    }
  }
  NearlyBest nearly;
  for (auto& [config, shapes] : losses) {
    std::ranges::sort(shapes);
    std::ranges::transform(shapes, std::back_inserter(nearly[config]), &std::pair<double, ShapeDims>::second);
  }
  return nearly;
}

NearlyBest not_kept(NearlyBest nearly, const std::vector<ShapeSummary>& known) {
  for (const ShapeSummary& shape : known) {
    for (const ConfigSummary& each : shape.configs) {
      if (each.role || each.is_spare) nearly.erase(each.id);
    }
  }
  return nearly;
}

std::vector<Spare> choose_spares(const WinnerSource& source, const OpInterface& interface, const OpSpec& spec,
                                 const DeviceFacts& device, MeasureMode mode, const SpaceValues& space,
                                 const ConfigIds& failed, const std::vector<ShapeDims>& range, SpareCounts counts) {
  return SpareChoosing(source, interface, spec, device, mode, space, failed).run(range, counts);
}

std::size_t count_spares(const WinnerSource& source, const ProblemKey& key, MeasureMode mode) {
  ConfigIds spares;
  for (const ShapeSummary& shape : source.known_shapes(key, mode, source.tuned_shapes(key, mode))) {
    for (const ConfigSummary& each : shape.configs) {
      if (each.is_spare) spares.insert(each.id);
    }
  }
  return spares.size();
}

}  // namespace tilewright
