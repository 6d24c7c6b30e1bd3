// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/regret.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cache/predict/nearest.hpp"
#include "tuner/learn/drawn_shapes.hpp"
#include "tuner/learn/spares.hpp"
#include "tuner/learn/training_set.hpp"

namespace tilewright {
namespace {

/// The most models learned without a part of the shapes; each takes a core seconds.
constexpr std::size_t kFolds = 32;

/// A cache without some of its shapes, optionally with added spares, or as its export.
class Without final : public WinnerSource {
 public:
  using LeavesOut = std::function<bool(const ShapeDims& shape)>;
  Without(const Store& store, LeavesOut leaves_out) : store_(store), leaves_out_(std::move(leaves_out)) {}

  /// Sets the model learned from the rest. `serving`: TrainingSet::serving() of the whole cache; must outlive this.
  void teach(std::shared_ptr<const LossModel> model, const std::vector<ShapeSummary>& serving) {
    model_ = std::move(model);
    serving_ = &serving;
    learned_.reset();
  }
  void keep(const std::vector<Spare>& spares) {
    for (const Spare& spare : spares) spares_[spare.home].push_back(spare);
    learned_.reset();
  }
  /// Leaves binaries to winners and spares only.
  void become_export(const ProblemKey& key, MeasureMode mode) {
    for (const ShapeSummary& shape : known_shapes(key, mode, tuned_shapes(key, mode))) {
      for (const ConfigSummary& each : shape.configs) {
        if (each.role || each.is_spare) exported_.insert(each.id);
      }
    }
  }

  [[nodiscard]] std::string title() const override { return store_.title(); }
  [[nodiscard]] bool changed() const override { return false; }
  [[nodiscard]] std::vector<std::string> ops() const override { return store_.ops(); }
  [[nodiscard]] std::vector<DeviceFacts> devices() const override { return {}; }
  [[nodiscard]] std::optional<OpInterface> interface_of(const std::string& op) const override {
    return store_.interface_of(op);
  }
  [[nodiscard]] std::optional<OpInterface> interface_by_hash(const std::string& hash) const override {
    return store_.interface_by_hash(hash);
  }
  [[nodiscard]] std::optional<StoredImplementation> implementation_by_hash(const std::string& hash) const override {
    return store_.implementation_by_hash(hash);
  }
  [[nodiscard]] std::optional<WinnerRow> winner_of(const ProblemKey& key, MeasureMode mode,
                                                   WinnerRole role) const override {
    if (leaves_out_(shape_of(key.problem))) return std::nullopt;
    return store_.winner_of(key, mode, role);
  }
  /// The base is the same config at all shapes, so the newest may be of a left-out shape.
  [[nodiscard]] std::optional<WinnerRow> newest_of_spec(const ProblemKey& key, MeasureMode mode,
                                                        WinnerRole role) const override {
    return store_.newest_of_spec(key, mode, role);
  }
  [[nodiscard]] std::vector<ShapeDims> tuned_shapes(const ProblemKey& key, MeasureMode mode) const override {
    std::vector<ShapeDims> shapes = store_.tuned_shapes(key, mode);
    std::erase_if(shapes, leaves_out_);
    return shapes;
  }
  [[nodiscard]] std::vector<ShapeSummary> known_shapes(const ProblemKey& key, MeasureMode mode,
                                                       const std::vector<ShapeDims>& shapes) const override {
    std::vector<ShapeSummary> known = store_.known_shapes(key, mode, shapes);
    for (ShapeSummary& shape : known) {
      if (const auto own = spares_.find(shape.dims); own != spares_.end()) {
        for (const Spare& spare : own->second) add(spare, shape);
      }
      if (exported_.empty()) continue;
      for (ConfigSummary& each : shape.configs) {
        each.has_binary = each.has_binary && exported_.contains(each.id);
      }
    }
    return known;
  }
  [[nodiscard]] std::shared_ptr<const Learned> learned(const ProblemKey& /*key*/, MeasureMode /*mode*/) const override {
    if (!model_ || learned_) return learned_;
    std::vector<ShapeSummary> here;
    for (const ShapeSummary& shape : *serving_) {
      if (leaves_out_(shape.dims)) continue;
      here.push_back(shape);
      const auto own = spares_.find(shape.dims);
      if (own == spares_.end()) continue;
      for (const Spare& spare : own->second) add(spare, here.back());
    }
    learned_ = std::make_shared<const Learned>(Learned{model_, 0, servers_of(here)});
    return learned_;
  }
  [[nodiscard]] std::optional<WinnerRow> timed(const ProblemKey& key, MeasureMode mode,
                                               const ConfigId& config) const override {
    if (auto row = store_.timed(key, mode, config)) return row;
    // A spare: the newest best row, with the spare's config and without a timing.
    auto row = store_.newest_of_spec(key, mode, WinnerRole::best);
    if (!row) return row;
    row->implementation_hash = config.implementation_hash;
    row->winner.trial.config = config.config;
    row->winner.trial.timing.reset();
    return row;
  }
  [[nodiscard]] std::optional<Build> build(const std::string& key) const override { return store_.build(key); }
  [[nodiscard]] std::vector<std::byte> binary(const std::string& content_hash) const override {
    return store_.binary(content_hash);
  }

 private:
  static void add(const Spare& spare, ShapeSummary& shape) {
    auto found = std::ranges::find(shape.configs, spare.id, &ConfigSummary::id);
    if (found == shape.configs.end()) {
      shape.configs.push_back({.id = spare.id, .role = std::nullopt});
      found = shape.configs.end() - 1;
    }
    found->has_binary = found->is_spare = true;
  }

  const Store& store_;
  LeavesOut leaves_out_;
  std::map<ShapeDims, std::vector<Spare>> spares_;
  std::shared_ptr<const LossModel> model_;
  const std::vector<ShapeSummary>* serving_ = nullptr;
  mutable std::shared_ptr<const Learned> learned_;
  /// The configs with a binary; empty: no limit.
  ConfigIds exported_;
};

/// The parameter values that the store has seen, of implementations in use.
SpaceValues values_in_use(const Store& store, const std::vector<ShapeSummary>& known,
                          const std::string& interface_hash) {
  SpaceValues values = values_seen(store, known);
  const std::set<std::string> in_use = store.implementations_in_use(interface_hash);
  std::erase_if(values, [&](const auto& each) { return !in_use.contains(each.first); });
  return values;
}

/// The configs that were nearly the best somewhere, and whether the cache keeps all of them: then the rest would, too.
struct Nearly {
  Nearly(const std::vector<ShapeSummary>& known, const SpaceValues& space, const ConfigIds& failed)
      : best(nearly_best(known, space, failed)), is_all_kept(not_kept(best, known).empty()) {}
  NearlyBest best;
  bool is_all_kept;
};

/// The left-out shapes' spares that the rest would still have, each at its nearest remaining shape. A spare or winner
/// that was nearly the best at a left-out shape stays only at a remaining shape where it was so, too.
std::vector<Spare> spares_that_stay(const std::vector<ShapeSummary>& known, const Nearly& nearly,
                                    const Without::LeavesOut& leaves_out, const std::vector<ShapeDims>& left) {
  std::vector<Spare> stay;
  if (left.empty()) return stay;
  for (const ShapeSummary& shape : known) {
    if (!leaves_out(shape.dims)) continue;
    for (const ConfigSummary& each : shape.configs) {
      const bool is_winner = each.role && each.role != WinnerRole::base && nearly.is_all_kept;
      if (!each.is_spare && !is_winner) continue;
      const auto found = nearly.best.find(each.id);
      const bool was_nearly = found != nearly.best.end();
      // Any of its shapes counts: later timings change which one is first.
      const bool was_here = was_nearly && std::ranges::find(found->second, shape.dims) != found->second.end();
      if (each.is_spare && !was_here) {
        stay.push_back({each.id, {}, nearest_shapes(left, shape.dims, 1).front()});
      } else if (was_nearly) {
        const auto home = std::ranges::find_if_not(found->second, leaves_out);
        if (home != found->second.end()) stay.push_back({each.id, {}, *home});
      }
    }
  }
  return stay;
}

std::optional<double> time_of(const Store& store, const ProblemKey& key, const ConfigId& config, MeasureMode mode) {
  const std::optional<WinnerRow> row = store.timed(key, mode, config);
  if (!row || !row->winner.trial.timing) return std::nullopt;
  return row->winner.trial.timing->median_ns;
}

ProblemKey key_of_ones(const OpInterface& interface, const OpSpec& spec, const DeviceFacts& device) {
  ProblemKey key{Problem{spec, {}}, interface.hash(), device.fingerprint()};
  for (const std::string& dim : interface.dims) key.problem.dims.emplace_back(dim, 1);
  return key;
}

/// Judges shapes of one spec, each by the config that the rest of the store serves. Its arguments must outlive it.
class Judge {
 public:
  Judge(const Store& store, const OpInterface& interface, const OpSpec& spec, const DeviceFacts& device,
        MeasureMode mode, const RegretSetting& setting)
      : store_(store),
        interface_(interface),
        spec_(spec),
        device_(device),
        mode_(mode),
        setting_(setting),
        key_(key_of_ones(interface, spec, device)),
        tuned_(store.tuned_shapes(key_, mode)),
        judged_(setting.judged.empty() ? tuned_ : setting.judged),
        training_set_(store, interface, device, key_, mode, tuned_, setting.lessons),
        values_(values_in_use(store, training_set_.known(), key_.interface_hash)),
        failed_somewhere_(store.failed_configs(key_, mode)),
        nearly_(training_set_.known(), values_, failed_somewhere_) {}

  /// The regrets in the order of the shapes, without shapes whose winner is unknown.
  std::vector<Regret> all() {
    std::vector<Regret> found;
    for (std::size_t at = 0; at < judged_.size(); ++at) {
      if (setting_.only_from && setting_.only_from(judged_[at])) continue;
      if (auto regret = judge(at)) found.push_back(*std::move(regret));
    }
    return found;
  }

 private:
  /// The regret of judged_[at]. Sets the dims of key_.
  std::optional<Regret> judge(std::size_t at) {
    const ShapeDims& shape = judged_[at];
    for (std::size_t d = 0; d < shape.size(); ++d) key_.problem.dims[d].second = shape[d];
    Regret regret;
    regret.problem = key_.problem;
    regret.is_tuned = std::ranges::find(tuned_, shape) != tuned_.end();
    const Store* const truth = regret.is_tuned ? &store_ : setting_.truth;
    if (truth == nullptr) return std::nullopt;
    const std::optional<WinnerRow> winner = truth->winner_of(key_, mode_, WinnerRole::best);
    if (!winner || !winner->winner.trial.timing) return std::nullopt;
    regret.winner = winner->winner.trial.config;
    regret.winner_hash = winner->implementation_hash;
    regret.best_ns = winner->winner.trial.timing->median_ns;

    Without rest(store_, leaves_out(shape, regret.is_tuned));
    if (training_set_.all())
      rest.teach(regret.is_tuned ? model_without_fold_of(at) : training_set_.all(), training_set_.serving());
    add_spares(rest, shape, regret.is_tuned);
    if (setting_.exported) rest.become_export(key_, mode_);
    serve(rest, regret);
    return regret;
  }

  /// The shapes that the judged shape leaves out.
  Without::LeavesOut leaves_out(const ShapeDims& shape, bool is_tuned) const {
    if (setting_.only_from) return [this](const ShapeDims& other) { return !setting_.only_from(other); };
    if (!is_tuned) return [](const ShapeDims&) { return false; };
    if (setting_.left_out == LeftOut::itself) return [&shape](const ShapeDims& other) { return other == shape; };
    return [&shape](const ShapeDims& other) { return shares_a_dim(other, shape); };
  }

  /// Learns the models of all folds on the first call.
  const std::shared_ptr<const LossModel>& model_without_fold_of(std::size_t at) {
    if (!folds_) {
      const auto left_out_by = [this](const ShapeDims& shape) { return leaves_out(shape, true); };
      folds_.emplace(judged_, training_set_.shapes(), left_out_by, kFolds);
      models_ = training_set_.without_each(*folds_);
    }
    return models_[folds_->of(at)];
  }

  /// Adds the spares that the rest would still have, and those chosen from it.
  void add_spares(Without& rest, const ShapeDims& shape, bool is_tuned) {
    if (!setting_.only_from) {
      rest.keep(spares_that_stay(training_set_.known(), nearly_, leaves_out(shape, is_tuned),
                                 rest.tuned_shapes(key_, mode_)));
    }
    // All such shapes have the same rest, hence the same spares.
    const bool is_same_rest = setting_.only_from || !is_tuned;
    std::vector<Spare>& spares = is_same_rest ? shared_ : own_;
    if (!is_same_rest || !has_shared_) {
      spares = choose_spares(rest, interface_, spec_, device_, mode_, values_, failed_somewhere_,
                             rest.tuned_shapes(key_, mode_),
                             {.helpful = setting_.spares,
                              .filled = setting_.spares,
                              .covering = std::min(setting_.spares, kMostCovering)});
      has_shared_ = has_shared_ || is_same_rest;
    }
    rest.keep(spares);
  }

  /// Fills in what the rest serves.
  void serve(const Without& rest, Regret& regret) const {
    ProblemQuery query{key_.problem, key_.interface_hash, device_};
    Needs needs;
    if (setting_.servers == Servers::compiled) {
      // Each requested config counts as compiled.
      query.with_compiles = true;
      needs.compiled = [](const PlannedWinner&) { return std::optional<std::string>("compiled"); };
    }
    const Chosen chosen = choose(rest, interface_, query, needs);
    // Serving skips unreadable parts; here that would show as a loss.
    if (!chosen.unread.empty()) {
      throw CacheError(fmt::format("cannot compute the loss of {}: {}", key_.problem.key(), chosen.unread));
    }
    if (!chosen.choice) return;
    const WinnerRow& row = chosen.choice->row;
    regret.match = chosen.choice->match;
    regret.served = row.winner.trial.config;
    regret.implementation_hash = row.implementation_hash;
    regret.tuned_for = row.problem;
    if (*regret.served == regret.winner && row.implementation_hash == regret.winner_hash) {
      regret.served_ns = regret.best_ns;
    } else if (regret.is_tuned) {
      regret.served_ns = time_of(store_, key_, {row.implementation_hash, *regret.served}, mode_);
    }
  }

  const Store& store_;
  const OpInterface& interface_;
  const OpSpec& spec_;
  const DeviceFacts& device_;
  MeasureMode mode_;
  const RegretSetting& setting_;
  /// Its dims are those of the shape being judged.
  ProblemKey key_;
  std::vector<ShapeDims> tuned_;
  const std::vector<ShapeDims>& judged_;
  TrainingSet training_set_;
  /// From all shapes, left-out ones included: a definition has all values.
  SpaceValues values_;
  ConfigIds failed_somewhere_;
  Nearly nearly_;
  std::optional<Folds> folds_;
  std::vector<std::shared_ptr<const LossModel>> models_;
  std::vector<Spare> shared_, own_;
  bool has_shared_ = false;
};

int region_of(std::int64_t value) { return static_cast<int>(std::log2(static_cast<double>(value)) / 4 + 1e-9); }

/// The geometric mean; a multiple of 8 if both are.
std::int64_t between(std::int64_t a, std::int64_t b) {
  const double middle = std::sqrt(static_cast<double>(a) * static_cast<double>(b));
  const std::int64_t step = a % 8 == 0 && b % 8 == 0 ? 8 : 1;
  return std::max<std::int64_t>(1, std::llround(middle / static_cast<double>(step))) * step;
}

}  // namespace

std::optional<double> Regret::loss() const noexcept {
  if (!served_ns || best_ns <= 0) return std::nullopt;
  return *served_ns / best_ns - 1;
}

std::vector<Regret> regrets(const Store& store, const OpInterface& interface, const OpSpec& spec,
                            const DeviceFacts& device, MeasureMode mode, const RegretSetting& setting) {
  return Judge(store, interface, spec, device, mode, setting).all();
}

RegretSummary summarise_regrets(const std::vector<Regret>& regrets) {
  RegretSummary summary;
  summary.shapes = regrets.size();
  std::vector<double> losses;
  for (const Regret& regret : regrets) {
    if (!regret.served) ++summary.unserved;
    if (!regret.failure.empty()) {
      ++summary.failed;
    } else if (regret.served && !regret.served_ns) {
      ++summary.untimed;
    }
    const std::optional<double> loss = regret.loss();
    if (!loss) continue;
    losses.push_back(*loss);
    if (!summary.worst_at || *loss > summary.worst) {
      summary.worst = *loss;
      summary.worst_at = regret.problem;
    }
  }
  if (losses.empty()) return summary;
  std::ranges::sort(losses);
  for (const double loss : losses) summary.mean += loss / static_cast<double>(losses.size());
  const auto place = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(losses.size())));
  summary.p95 = losses[std::max<std::size_t>(place, 1) - 1];
  return summary;
}

std::vector<Region> by_region(const std::vector<Regret>& regrets) {
  std::map<std::vector<int>, Region> regions;
  for (const Regret& regret : regrets) {
    std::vector<int> powers;
    std::string text;
    for (const auto& [name, value] : regret.problem.dims) {
      const int power = region_of(value);
      powers.push_back(power);
      text += fmt::format("{}{} {}..{}", text.empty() ? "" : ", ", name, std::int64_t{1} << (4 * power),
                          (std::int64_t{1} << (4 * std::min(power, 14) + 4)) - 1);
    }
    Region& region = regions[powers];
    region.text = text;
    region.regrets.push_back(regret);
  }
  std::vector<Region> found;
  for (auto& [powers, region] : regions) found.push_back(std::move(region));
  return found;
}

std::vector<Problem> shapes_to_tune(const std::vector<Regret>& regrets, double tolerated, std::size_t most) {
  std::vector<const Regret*> losers;
  // Several specs may have the same dims.
  std::set<std::string> known;
  for (const Regret& regret : regrets) {
    if (regret.is_tuned) known.insert(regret.problem.key());
    if (regret.tuned_for && regret.loss().value_or(0) > tolerated) losers.push_back(&regret);
  }
  std::ranges::stable_sort(losers, std::greater{}, [](const Regret* regret) { return *regret->loss(); });
  std::vector<Problem> found;
  for (const Regret* regret : losers) {
    if (found.size() == most) break;
    Problem problem = regret->problem;
    for (std::size_t d = 0; regret->is_tuned && d < problem.dims.size(); ++d) {
      problem.dims[d].second = between(problem.dims[d].second, regret->tuned_for->dims[d].second);
    }
    if (known.insert(problem.key()).second) found.push_back(std::move(problem));
  }
  return found;
}

}  // namespace tilewright
