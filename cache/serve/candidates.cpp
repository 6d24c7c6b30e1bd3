// SPDX-License-Identifier: Apache-2.0
#include "cache/serve/candidates.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <map>

#include "cache/plan/combinations.hpp"
#include "cache/predict/model_predictor.hpp"

namespace tilewright {
namespace {

/// Times of different modes are not compared, so one mode decides: the first with a winner.
constexpr std::array kModes{MeasureMode::cold, MeasureMode::hot, MeasureMode::events};

/// The extra gain that a config to compile must promise over one with a binary, which was a winner or was chosen to
/// serve many shapes.
constexpr double kLeastGain = 0.005;
/// An implementation whose values have more combinations is not searched for untimed ones.
constexpr double kMostCombinations = 1 << 20;
// After this many unreadable rows the whole file counts as damaged, and other shapes are not asked for them.
constexpr std::size_t kMostUnread = 16;

/// allowed(); false if a formula of a damaged row has no value for the problem.
bool is_allowed(const ImplementationRecipe& recipe, const Config& config, const Problem& problem,
                const DeviceFacts& device) {
  try {
    return allowed(recipe, config, problem, device);
  } catch (const UsageError&) {
    return false;
  }
}

/// Other stored devices of the same architecture, the most similar first; empty for the emulator.
std::vector<DeviceFacts> relatives(const WinnerSource& source, const DeviceFacts& device) {
  if (device.is_cpu()) return {};
  std::vector<DeviceFacts> found;
  const std::string own = device.fingerprint();
  for (DeviceFacts& other : source.devices()) {
    if (other.compute_capability == device.compute_capability && other.fingerprint() != own) {
      found.push_back(std::move(other));
    }
  }
  std::ranges::stable_sort(found, {},
                           [&](const DeviceFacts& other) { return std::abs(other.sm_count - device.sm_count); });
  return found;
}

}  // namespace

Candidates::Candidates(const WinnerSource& source, const ProblemQuery& query)
    : source_(source),
      query_(query),
      recipe_([this, read = recipes_of(source), none = ImplementationRecipe(),
               failed = std::set<std::string>()](const std::string& hash) mutable -> const ImplementationRecipe& {
        if (failed.contains(hash)) return none;
        const auto* const recipe = readable([&] { return &read(hash); });
        if (recipe == nullptr) failed.insert(hash);
        return recipe != nullptr ? *recipe : none;
      }) {
  const auto stages = [this](const std::vector<ProblemKey>& keys, DeviceFit fit) {
    for (const ProblemKey& key : keys) later([=, this] { pinned(key, fit); });
    for (const ProblemKey& key : keys) later([=, this] { exact(key, fit); });
    for (const ProblemKey& key : keys) later([=, this] { nearest(key, fit, 0); });
    for (const ProblemKey& key : keys) later([=, this] { base(key, fit); });
  };
  const auto key_of = [this](const DeviceFacts& facts) {
    return ProblemKey{query_.problem, query_.interface_hash, facts.fingerprint()};
  };
  run([&] {
    stages({key_of(query_.device)}, DeviceFit::same_device);
    later([=, this] {
      std::vector<ProblemKey> others;
      for (const DeviceFacts& relative : relatives(source_, query_.device)) others.push_back(key_of(relative));
      stages(others, DeviceFit::same_architecture);
    });
  });
}

std::optional<MatchCandidate> Candidates::next() {
  found_.reset();
  while (!found_ && !steps_.empty()) {
    const Step step = std::move(steps_.front());
    steps_.pop_front();
    run(step);
  }
  return std::move(found_);
}

/// Runs a step. The steps that it adds come before all older ones.
void Candidates::run(const Step& step) {
  readable([&] { step(); });
  steps_.insert(steps_.begin(), std::make_move_iterator(added_.begin()), std::make_move_iterator(added_.end()));
  added_.clear();
}

/// An unreadable part does not stop the readable rest: returns an empty value instead, and keeps the first error.
template <class Read>
auto Candidates::readable(const Read& read) -> decltype(read()) {
  try {
    return read();
  } catch (const CacheError& error) {
    pass_over(error);
    return decltype(read())();
  }
}

void Candidates::pass_over(const CacheError& error) {
  // Another try may succeed, and nothing is wrong with the file.
  if (error.kind() == CacheFault::locked || error.kind() == CacheFault::denied) throw CacheError(error);
  ++failures_;
  if (error_) return;
  unread_ = error.what();
  error_ = std::make_exception_ptr(error);
}

void Candidates::rethrow_unread() const {
  if (error_) std::rethrow_exception(error_);
}

bool Candidates::is_wanted(const Match& match) const {
  return query_.better_than == nullptr || fits_better(match, *query_.better_than);
}

std::optional<WinnerRow> Candidates::winner_of(const ProblemKey& key, MeasureMode mode, WinnerRole role) {
  return readable([&] { return source_.winner_of(key, mode, role); });
}

/// The pins and bans of a device, read once.
const std::vector<Pin>& Candidates::decided(const std::string& fingerprint) {
  const auto [place, is_new] = decided_.try_emplace(fingerprint);
  if (!is_new) return place->second;
  Pins found = readable([&] { return source_.pins({query_.problem, query_.interface_hash, fingerprint}); });
  if (unread_.empty()) unread_ = std::move(found.unread);
  return place->second = std::move(found.pins);
}

/// The ban of the row's config on the query's device or on the row's device.
const Pin* Candidates::ban_of(const WinnerRow& row) {
  const ConfigId id{row.implementation_hash, row.winner.trial.config};
  for (const std::string& fingerprint : {query_.device.fingerprint(), row.device.fingerprint()}) {
    for (const Pin& each : decided(fingerprint)) {
      if (each.kind == PinKind::ban && each.config == id) return &each;
    }
  }
  return nullptr;
}

void Candidates::pinned(const ProblemKey& key, DeviceFit device) {
  if (!is_wanted({Fit::exact, {}, device})) return;
  for (const Pin& pin : decided(key.device_fingerprint)) {
    if (pin.kind == PinKind::pin) later([=, this] { offer_pinned(pin, key, device); });
  }
}

/// Offers the config as this problem's winner, else with its binary for this problem, else with the nearest shape's.
void Candidates::offer_pinned(const Pin& pin, const ProblemKey& key, DeviceFit device) {
  const Match exact{Fit::exact, {}, device};
  std::optional<WinnerRow> to_compile;
  for (const MeasureMode mode : kModes) {
    std::optional<WinnerRow> row = winner_of(key, mode, WinnerRole::best);
    if (!row || ConfigId{row->implementation_hash, row->winner.trial.config} != pin.config) {
      row = readable([&] { return source_.timed(key, mode, pin.config); });
    }
    if (row && !row->winner.trial.build_key.empty()) return offer(exact, std::move(row), false, &pin);
    if (row && !to_compile) to_compile = std::move(row);
  }
  for (const MeasureMode mode : kModes) {
    Around around{key, device, mode, {}};
    around.shapes = readable([&] { return source_.tuned_near(key, mode, kMostNeighbours); });
    for (const ShapeSummary& shape : known_shapes(around, around.shapes)) {
      for (const ConfigSummary& known : shape.configs) {
        if (known.id != pin.config || !(known.role || known.has_binary) || !serves(pin.config, shape.dims, key.problem))
          continue;
        ProblemKey origin = key;
        for (std::size_t d = 0; d < shape.dims.size(); ++d) origin.problem.dims[d].second = shape.dims[d];
        const NearConfig near{shape.dims, known.role, pin.config};
        std::optional<WinnerRow> row = readable([&] { return row_of(near, origin, mode); });
        if (row) return offer({Fit::nearest, {}, device}, std::move(row), false, &pin);
      }
    }
  }
  if (query_.with_compiles && to_compile) return offer(exact, std::move(to_compile), true, &pin);
  pins_without_binary_.push_back(pin);
}

void Candidates::exact(const ProblemKey& key, DeviceFit device) {
  const Match match{Fit::exact, {}, device};
  if (!is_wanted(match)) return;
  for (const MeasureMode mode : kModes) {
    const std::size_t failed = failures_;
    std::optional<WinnerRow> best = winner_of(key, mode, WinnerRole::best);
    if (!best && failures_ == failed) continue;
    offer(match, std::move(best));
    later([=, this] { offer(match, winner_of(key, mode, WinnerRole::dynamic)); });
    return;
  }
}

/// Offers from the first mode, beginning with the `mode`-th, that has tuned shapes.
void Candidates::nearest(const ProblemKey& key, DeviceFit device, std::size_t mode) {
  const Match by_model{Fit::nearest, {}, device, true};
  if (!is_wanted(by_model)) return;
  for (; mode < kModes.size(); ++mode) {
    Around around{key, device, kModes[mode], {}};
    around.shapes = readable([&] { return source_.tuned_near(key, around.mode, kMostNeighbours); });
    if (around.shapes.empty()) continue;
    offered_.clear();
    unread_rows_.clear();
    const std::size_t failed = failures_;
    const auto learned = readable([&] { return source_.learned(key, around.mode); });
    if (!learned) return by_shapes(around);
    const auto ranking = std::make_shared<const std::vector<NearConfig>>(rank_by_model(*learned, around));
    one_of(ranking, 0, around, by_model);
    later([=, this] {
      // Configs of the nearest shapes have binaries too, but the model did not choose them for this shape. With
      // compiles they are left out, unless a part of the model could not be read.
      const bool is_all = query_.with_compiles && !ranking->empty() && failures_ == failed;
      is_all ? nearest(key, device, mode + 1) : by_shapes(around);
    });
    return;
  }
}

void Candidates::by_shapes(const Around& around) {
  // If none of the nearest is legal here, as for rows of a rare alignment, farther shapes follow.
  const auto farther = around.shapes.begin() + static_cast<std::ptrdiff_t>(std::min(around.shapes.size(), kNeighbours));
  by_shapes(around, {around.shapes.begin(), farther});
  if (farther == around.shapes.end()) return;
  later([this, around, rest = std::vector(farther, around.shapes.end())] { by_shapes(around, rest); });
}

void Candidates::by_shapes(const Around& around, const std::vector<ShapeDims>& shapes) {
  const Match match{Fit::nearest, {}, around.device};
  if (!is_wanted(match)) return;
  const Problem& problem = around.key.problem;
  const ShapeDims shape = shape_of(problem);
  const auto usable = [&](const ConfigSummary& known, const ShapeDims& tuned_for) {
    if (tuned_for == shape || unread_rows_.contains({known.id, tuned_for})) return false;
    const bool has_binary = known.role || known.has_binary;
    return query_.with_compiles || (has_binary && serves(known.id, tuned_for, problem));
  };
  const std::vector<ShapeSummary> known = known_shapes(around, shapes);
  const LogPadding padding = log_padding(recipe_, problem, query_.device);
  const double risk = query_.with_compiles ? untimed_risk(known, padding) : kLeastRisk;
  one_of(std::make_shared<const std::vector<NearConfig>>(
             rank_nearest(known, shape, usable, untimed(known, problem), risk, padding)),
         0, around, match);
}

void Candidates::base(const ProblemKey& key, DeviceFit device) {
  const Match match{Fit::base_default, {}, device};
  if (!is_wanted(match)) return;
  for (const MeasureMode mode : kModes) {
    std::optional<WinnerRow> base = readable([&] { return source_.newest_of_spec(key, mode, WinnerRole::base); });
    if (base) return offer(match, std::move(base));
  }
}

/// Offers the first possible config from the `at`-th of a ranking on; a later step offers the rest.
void Candidates::one_of(const Ranking& ranking, std::size_t at, const Around& around, const Match& match) {
  ProblemKey origin = around.key;
  const Problem& problem = around.key.problem;
  for (; at < ranking->size() && !found_; ++at) {
    const NearConfig& near = (*ranking)[at];
    if (offered_.contains(near.id)) continue;
    // Winners are few: why one cannot serve is reported. The others are many, and are filtered in their turn.
    if (!near.role && !is_allowed(recipe_(near.id.implementation_hash), near.id.config, problem, query_.device))
      continue;
    for (std::size_t d = 0; d < near.tuned_for.size(); ++d) origin.problem.dims[d].second = near.tuned_for[d];
    const bool needs_compile = query_.with_compiles && (!near.has_binary || !serves(near, problem));
    const std::size_t failed = failures_;
    std::optional<WinnerRow> row = readable([&] { return row_of(near, origin, around.mode); });
    if (row) offered_.insert(near.id);
    // If this row cannot be read, another shape may have the config.
    if (failures_ != failed && unread_rows_.size() < kMostUnread &&
        unread_rows_.insert({near.id, near.tuned_for}).second) {
      later([=, this] { by_shapes(around); });
    }
    offer(match, std::move(row), needs_compile);
    if (found_) found_->expected_loss = near.expected_loss;
  }
  if (found_) later([=, this] { one_of(ranking, at, around, match); });
}

/// All of `match` but the freshness is known before the row is read.
void Candidates::offer(Match match, std::optional<WinnerRow> row, bool needs_compile, const Pin* pin) {
  if (!row) return;
  if (const Pin* const ban = ban_of(*row)) pin = ban;
  match.freshness = freshness_of(*row, query_.versions, query_.current_implementations);
  found_ = MatchCandidate{match, std::move(*row), needs_compile, pin != nullptr ? std::optional(*pin) : std::nullopt};
}

/// The summaries of the shapes that can be read: all at once, or else one by one.
std::vector<ShapeSummary> Candidates::known_shapes(const Around& around, const std::vector<ShapeDims>& shapes) {
  const auto read = [&](const std::vector<ShapeDims>& some) {
    return readable([&] { return source_.known_shapes(around.key, around.mode, some); });
  };
  const std::size_t failed = failures_;
  std::vector<ShapeSummary> known = read(shapes);
  if (failures_ == failed || shapes.size() == 1) return known;
  for (const ShapeDims& shape : shapes) std::ranges::move(read({shape}), std::back_inserter(known));
  return known;
}

/// The configs that may serve, by the learned model, the least expected loss first: those with a binary, and with
/// compiles all configs that it was learned from. Where none of these is good, all combinations of their values may
/// serve; where none of an implementation is legal, all of its own.
/// The nearest readable tuned shape stands for the origin of what has no binary.
std::vector<NearConfig> Candidates::rank_by_model(const Learned& learned, const Around& around) {
  const ProblemKey& key = around.key;
  std::vector<NearConfig> ranked;
  const auto interface = readable([&] { return source_.interface_by_hash(key.interface_hash); });
  if (!interface) return ranked;
  const ShapeDims shape = shape_of(key.problem);
  const DeviceFacts facts = facts_of(key.device_fingerprint);
  std::vector<const StoredConfig*> asked;
  for (const StoredConfig& each : learned.servers) {
    if (each.tuned_for.size() != shape.size() || (each.role && each.tuned_for == shape) ||
        !serves(each.id, each.tuned_for, key.problem))
      continue;
    asked.push_back(&each);
  }
  const std::size_t with_binary = asked.size();
  std::deque<StoredConfig> compiled;
  const std::optional<ShapeDims> any_tuned = query_.with_compiles ? first_readable(around) : std::nullopt;
  for (std::size_t i = 0; any_tuned && i < learned.model->configs().size(); ++i) {
    const auto& [implementation, config] = learned.model->configs()[i];
    const std::string& hash = learned.model->space().implementations[implementation];
    asked.push_back(&compiled.emplace_back(StoredConfig{*any_tuned, std::nullopt, {hash, config}}));
  }
  const ModelPredictor model(*learned.model, *interface, key.problem, facts, recipe_);
  const auto rank = [&](std::size_t stored) {
    std::vector<const ConfigId*> configs;
    for (const StoredConfig* each : asked) configs.push_back(&each->id);
    const auto losses = model.losses(configs);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (!losses[i]) continue;
      const bool is_stored = i < stored;
      ranked.push_back({asked[i]->tuned_for, asked[i]->role, asked[i]->id, is_stored, is_stored,
                        *losses[i] + (is_stored ? 0 : kLeastGain)});
    }
  };
  rank(with_binary);
  const auto is_good = [](const NearConfig& each) { return each.expected_loss < kPoorLoss; };
  if (any_tuned) {
    ValuesByHash values = values_of(*learned.model);
    if (std::ranges::any_of(ranked, is_good)) {
      for (const NearConfig& each : ranked) values.erase(each.id.implementation_hash);
    }
    asked.clear();
    std::vector<ConfigId> more = combined(values, key.problem);
    const ConfigIds refused = more.empty() ? ConfigIds{} : refused_around(around);
    for (ConfigId& id : more) {
      if (!refused.contains(id))
        asked.push_back(&compiled.emplace_back(StoredConfig{*any_tuned, std::nullopt, std::move(id)}));
    }
    rank(0);
  }
  std::ranges::stable_sort(ranked, {}, &NearConfig::expected_loss);
  return ranked;
}

/// The first of the shapes whose best winner can be read.
std::optional<ShapeDims> Candidates::first_readable(const Around& around) {
  ProblemKey key = around.key;
  for (const ShapeDims& shape : around.shapes) {
    for (std::size_t d = 0; d < shape.size(); ++d) key.problem.dims[d].second = shape[d];
    if (winner_of(key, around.mode, WinnerRole::best)) return shape;
  }
  return std::nullopt;
}

/// The configs that failed at these shapes, and their bases: what a model was learned from leaves both out.
ConfigIds Candidates::refused_around(const Around& around) {
  ConfigIds refused;
  for (const ShapeSummary& shape : known_shapes(around, around.shapes)) {
    for (const ConfigSummary& each : shape.configs) {
      if (each.has_failed || each.role == WinnerRole::base) refused.insert(each.id);
    }
  }
  return refused;
}

/// The facts of the device that the trials are of.
DeviceFacts Candidates::facts_of(const std::string& fingerprint) {
  for (DeviceFacts& known : readable([&] { return source_.devices(); })) {
    if (known.fingerprint() == fingerprint) return std::move(known);
  }
  return query_.device;
}

/// Configs that could be compiled, beside the timed ones.
std::vector<ConfigSummary> Candidates::untimed(const std::vector<ShapeSummary>& known, const Problem& problem) {
  std::vector<ConfigSummary> found;
  if (!query_.with_compiles) return found;
  ValuesByHash seen;
  for (const ShapeSummary& shape : known) {
    for (const ConfigSummary& each : shape.configs) {
      see(recipe_(each.id.implementation_hash), each.id.config, seen[each.id.implementation_hash]);
    }
  }
  for (ConfigId& id : combined(seen, problem)) found.push_back({std::move(id), 0, std::nullopt, false});
  return found;
}

/// The parameter values of the configs that a model was learned from.
Candidates::ValuesByHash Candidates::values_of(const LossModel& model) const {
  ValuesByHash seen;
  for (const auto& [implementation, config] : model.configs()) {
    const std::string& hash = model.space().implementations[implementation];
    see(recipe_(hash), config, seen[hash]);
  }
  return seen;
}

std::vector<ConfigId> Candidates::combined(const ValuesByHash& seen, const Problem& problem) const {
  std::vector<ConfigId> configs;
  for (const auto& [hash, values] : seen) {
    double count = 1;
    for (const std::vector<std::int64_t>& each : values) count *= static_cast<double>(each.size());
    if (count > kMostCombinations) continue;
    for (Config& config : combinations(recipe_(hash), values, problem, query_.device)) {
      configs.push_back({hash, std::move(config)});
    }
  }
  return configs;
}

std::optional<WinnerRow> Candidates::row_of(const NearConfig& near, const ProblemKey& origin, MeasureMode mode) const {
  if (near.role) return source_.winner_of(origin, mode, *near.role);
  std::optional<WinnerRow> stored;
  if (near.is_stored) {
    stored = source_.timed(origin, mode, near.id);
    if (!stored || stored->winner.trial.timing) return stored;
  }
  // It was not timed: the row says only which config it is, and with which versions the rest was measured.
  std::optional<WinnerRow> row = source_.winner_of(origin, mode, WinnerRole::best);
  if (!row) return row;
  row->implementation_hash = near.id.implementation_hash;
  Trial trial;
  trial.config = near.id.config;
  trial.mode = mode;
  trial.versions = row->winner.trial.versions;
  if (stored) trial.build_key = stored->winner.trial.build_key;
  row->winner = Winner();
  row->winner.role = WinnerRole::dynamic;
  row->winner.trial = std::move(trial);
  return row;
}

bool Candidates::serves(const NearConfig& near, const Problem& problem) {
  return serves(near.id, near.tuned_for, problem);
}

/// A binary with specialised dims serves only their values.
bool Candidates::serves(const ConfigId& config, const ShapeDims& tuned_for, const Problem& problem) {
  if (!config.config.specialised()) return true;
  const std::vector<std::string>& fixed = recipe_(config.implementation_hash).specialize;
  for (std::size_t d = 0; d < tuned_for.size(); ++d) {
    const auto& [name, value] = problem.dims[d];
    // If the fixed dims are unknown, all count as fixed.
    const bool is_fixed = fixed.empty() || std::ranges::find(fixed, name) != fixed.end();
    if (is_fixed && value != tuned_for[d]) return false;
  }
  return true;
}

}  // namespace tilewright
