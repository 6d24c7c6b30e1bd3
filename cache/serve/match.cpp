// SPDX-License-Identifier: Apache-2.0
#include "cache/serve/match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/plan/combinations.hpp"
#include "cache/predict/nearest.hpp"

namespace tilewright {
namespace {

/// Times of different modes are never compared, so one mode decides: the first in which there is a winner.
constexpr std::array kModes{MeasureMode::cold, MeasureMode::hot, MeasureMode::events};

/// What must be compiled must promise so much more than what has a binary: that was a winner, or chosen to serve many
/// shapes.
constexpr double kLeastGain = 0.005;

/// What a caller does not know (no driver on this machine, no compiler) it cannot judge.
bool differs(const Versions& now, const Versions& then) {
  return (now.driver != 0 && now.driver != then.driver) || (!now.compiler.empty() && now.compiler != then.compiler) ||
         (!now.tilewright.empty() && now.tilewright != then.tilewright);
}

/// Offers the candidates of a problem, device by device.
class Offer {
 public:
  Offer(const WinnerSource& source, const DeviceFacts& device, const Versions& versions,
        const std::vector<std::string>& current, const std::function<bool(MatchCandidate&)>& take, bool with_compiles,
        const Match* better_than)
      : source_(source),
        device_(device),
        versions_(versions),
        current_(current),
        take_(take),
        with_compiles_(with_compiles),
        better_than_(better_than),
        recipe_([this, read = recipes_of(source), none = ImplementationRecipe(),
                 failed = std::set<std::string>()](const std::string& hash) mutable -> const ImplementationRecipe& {
          if (failed.contains(hash)) return none;
          const auto* const recipe = readable([&] { return &read(hash); });
          if (recipe == nullptr) failed.insert(hash);
          return recipe != nullptr ? *recipe : none;
        }) {}
  // Its recipes call it.
  Offer(const Offer&) = delete;
  Offer& operator=(const Offer&) = delete;

  /// What cannot be read is no reason that what can be does not serve: then nothing was read, and the first error is
  /// kept.
  template <class Read>
  auto readable(const Read& read) -> decltype(read()) {
    try {
      return read();
    } catch (const CacheError& error) {
      // Of these another try may tell more, and nothing is wrong with the file.
      if (error.kind() == CacheFault::locked || error.kind() == CacheFault::denied) throw;
      if (!unreadable_) unreadable_ = std::current_exception();
      ++failures_;
      return {};
    }
  }
  /// The first error of readable(), or null.
  [[nodiscard]] const std::exception_ptr& unreadable() const noexcept { return unreadable_; }

  // Each is true once one was taken.
  bool exact(const ProblemKey& key, DeviceFit device) {
    const Match match{Fit::exact, {}, device};
    if (!is_wanted(match)) return false;
    for (const MeasureMode mode : kModes) {
      const std::size_t failed = failures_;
      std::optional<WinnerRow> best = winner_of(key, mode, WinnerRole::best);
      if (!best && failures_ == failed) continue;
      return offer(match, std::move(best)) || offer(match, winner_of(key, mode, WinnerRole::dynamic));
    }
    return false;
  }

  bool nearest(const ProblemKey& key, DeviceFit device) {
    const Match by_model{Fit::nearest, {}, device, true}, by_shapes{Fit::nearest, {}, device};
    if (!is_wanted(by_model)) return false;
    for (const MeasureMode mode : kModes) {
      const auto shapes = readable([&] { return source_.tuned_near(key, mode, kMostNeighbours); });
      if (shapes.empty()) continue;
      offered_.clear();
      const std::size_t failed = failures_;
      if (const auto learned = readable([&] { return source_.learned(key, mode); }); learned) {
        const std::vector<NearConfig> ranked = rank_by_model(*learned, key, mode, shapes);
        if (offer_one_of(ranked, key, by_model, mode)) return true;
        // The configs of the nearest shapes have binaries as well, but the model did not choose them for this shape. A
        // caller that compiles passes them over, unless a part of the model could not be read.
        if (with_compiles_ && !ranked.empty() && failures_ == failed) continue;
      }
      if (!is_wanted(by_shapes)) continue;
      // Of the nearest there may be none that is legal here, such as for rows of a rare alignment: then farther ones
      // are asked.
      const auto farther = shapes.begin() + static_cast<std::ptrdiff_t>(std::min(shapes.size(), kNeighbours));
      return nearest(key, by_shapes, mode, {shapes.begin(), farther}) ||
             (farther != shapes.end() && nearest(key, by_shapes, mode, {farther, shapes.end()}));
    }
    return false;
  }

  bool base(const ProblemKey& key, DeviceFit device) {
    const Match match{Fit::base_default, {}, device};
    if (!is_wanted(match)) return false;
    for (const MeasureMode mode : kModes) {
      std::optional<WinnerRow> base = readable([&] { return source_.newest_of_spec(key, mode, WinnerRole::base); });
      if (base) return offer(match, std::move(base));
    }
    return false;
  }

 private:
  [[nodiscard]] bool is_wanted(const Match& match) const {
    return better_than_ == nullptr || fits_better(match, *better_than_);
  }

  std::optional<WinnerRow> winner_of(const ProblemKey& key, MeasureMode mode, WinnerRole role) {
    return readable([&] { return source_.winner_of(key, mode, role); });
  }

  /// What is known of those that can be read: all at once, or else one after the other.
  std::vector<ShapeSummary> known_shapes(const ProblemKey& key, MeasureMode mode,
                                         const std::vector<ShapeDims>& shapes) {
    const auto read = [&](const std::vector<ShapeDims>& some) {
      return readable([&] { return source_.known_shapes(key, mode, some); });
    };
    const std::size_t failed = failures_;
    std::vector<ShapeSummary> known = read(shapes);
    if (failures_ == failed || shapes.size() == 1) return known;
    for (const ShapeDims& shape : shapes) std::ranges::move(read({shape}), std::back_inserter(known));
    return known;
  }

  bool nearest(const ProblemKey& key, const Match& match, MeasureMode mode, const std::vector<ShapeDims>& shapes) {
    const ShapeDims shape = shape_of(key.problem);
    const auto usable = [&](const ConfigSummary& known, const ShapeDims& tuned_for) {
      if (tuned_for == shape) return false;
      const bool has_binary = known.role || known.has_binary;
      return with_compiles_ || (has_binary && serves(known.config, known.implementation_hash, tuned_for, key.problem));
    };
    const std::vector<ShapeSummary> known = known_shapes(key, mode, shapes);
    const LogPadding padding = log_padding(recipe_, key.problem, device_);
    const double risk = with_compiles_ ? untimed_risk(known, padding) : kLeastRisk;
    return offer_one_of(rank_nearest(known, shape, usable, untimed(known, key.problem), risk, padding), key, match,
                        mode);
  }

  /// Those that may serve, by what was learned, the least expected loss first: who has a binary and, where a config may
  /// be compiled, all that it was learned of; the nearest of the tuned shapes that can be read stands for where these
  /// are from.
  std::vector<NearConfig> rank_by_model(const Learned& learned, const ProblemKey& key, MeasureMode mode,
                                        const std::vector<ShapeDims>& tuned) {
    std::vector<NearConfig> ranked;
    const auto interface = readable([&] { return source_.interface_by_hash(key.interface_hash); });
    if (!interface) return ranked;
    const ShapeDims shape = shape_of(key.problem);
    const DeviceFacts facts = facts_of(key.device_fingerprint);
    std::set<std::pair<std::string, std::string>> taken;
    std::vector<float> features;  // of those in `ranked`, one after the other
    const auto consider = [&](NearConfig&& near) {
      const ImplementationRecipe& known = recipe_(near.implementation_hash);
      if (known.kernels.empty()) return;
      std::optional<std::vector<float>> own;
      try {
        if (!allowed(known, near.config, key.problem, facts)) return;
        own = learned.model->space().of(*interface, near.implementation_hash, known, near.config, key.problem, facts);
      } catch (const Error&) {
        return;  // a formula without a value here is no reason that no other serves
      }
      if (!own) return;
      features.insert(features.end(), own->begin(), own->end());
      ranked.push_back(std::move(near));
    };
    for (const StoredConfig& each : learned.servers) {
      if (each.tuned_for.size() != shape.size() || (each.role && each.tuned_for == shape) ||
          !serves(each.config, each.implementation_hash, each.tuned_for, key.problem))
        continue;
      if (!taken.emplace(each.implementation_hash, each.config.text()).second) continue;
      consider({each.tuned_for, each.role, each.implementation_hash, each.config});
    }
    const std::optional<ShapeDims> any_tuned = with_compiles_ ? first_readable(key, mode, tuned) : std::nullopt;
    for (std::size_t i = 0; any_tuned && i < learned.model->configs().size(); ++i) {
      const auto& [implementation, config] = learned.model->configs()[i];
      const std::string& hash = learned.model->space().implementations[implementation];
      if (taken.contains({hash, config.text()})) continue;
      consider({*any_tuned, std::nullopt, hash, config, false, false});
    }
    const std::vector<double> losses = learned.model->losses(features);
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      ranked[i].expected_loss = losses[i] + (ranked[i].has_binary ? 0 : kLeastGain);
    }
    std::ranges::stable_sort(ranked, {}, &NearConfig::expected_loss);
    return ranked;
  }

  /// The first of some shapes whose best winner can be read.
  std::optional<ShapeDims> first_readable(ProblemKey key, MeasureMode mode, const std::vector<ShapeDims>& shapes) {
    for (const ShapeDims& shape : shapes) {
      for (std::size_t d = 0; d < shape.size(); ++d) key.problem.dims[d].second = shape[d];
      if (winner_of(key, mode, WinnerRole::best)) return shape;
    }
    return std::nullopt;
  }

  /// Of the device that trials are of.
  DeviceFacts facts_of(const std::string& fingerprint) {
    for (DeviceFacts& known : readable([&] { return source_.devices(); })) {
      if (known.fingerprint() == fingerprint) return std::move(known);
    }
    return device_;
  }

  bool offer_one_of(const std::vector<NearConfig>& ranked, const ProblemKey& key, const Match& match,
                    MeasureMode mode) {
    ProblemKey origin = key;
    const ShapeDims shape = shape_of(key.problem);
    for (const NearConfig& near : ranked) {
      const std::pair which(near.implementation_hash, near.config.text());
      if (offered_.contains(which)) continue;
      // Winners are few, and why one cannot serve is told. The others are many, and judged when it is their turn.
      if (!near.role && !allowed(recipe_(near.implementation_hash), near.config, key.problem, device_)) continue;
      for (std::size_t d = 0; d < shape.size(); ++d) origin.problem.dims[d].second = near.tuned_for[d];
      const bool needs_compile = with_compiles_ && (!near.has_binary || !serves(near.config, near.implementation_hash,
                                                                                near.tuned_for, key.problem));
      std::optional<WinnerRow> row = readable([&] { return row_of(near, origin, mode); });
      // Where this one cannot be read, it may be had from another shape.
      if (row) offered_.insert(which);
      if (offer(match, std::move(row), needs_compile)) return true;
    }
    return false;
  }

  /// What might be compiled beside what was timed.
  std::vector<ConfigSummary> untimed(const std::vector<ShapeSummary>& known, const Problem& problem) {
    std::vector<ConfigSummary> found;
    if (!with_compiles_) return found;
    std::map<std::string, SeenValues> seen;
    for (const ShapeSummary& shape : known) {
      for (const ConfigSummary& each : shape.configs) {
        see(recipe_(each.implementation_hash), each.config, seen[each.implementation_hash]);
      }
    }
    for (const auto& [hash, values] : seen) {
      for (Config& config : combinations(recipe_(hash), values, problem, device_)) {
        found.push_back({hash, std::move(config), 0, std::nullopt, false});
      }
    }
    return found;
  }

  std::optional<WinnerRow> row_of(const NearConfig& near, const ProblemKey& origin, MeasureMode mode) const {
    if (near.role) return source_.winner_of(origin, mode, *near.role);
    std::optional<WinnerRow> stored;
    if (near.is_stored) {
      stored = source_.timed(origin, mode, near.implementation_hash, near.config);
      if (!stored || stored->winner.trial.timing) return stored;
    }
    // Nobody has its time: all that is said of it is what it is, and that the rest was measured with these versions.
    std::optional<WinnerRow> row = source_.winner_of(origin, mode, WinnerRole::best);
    if (!row) return row;
    row->implementation_hash = near.implementation_hash;
    Trial trial;
    trial.config = near.config;
    trial.mode = mode;
    trial.versions = row->winner.trial.versions;
    if (stored) trial.build_key = stored->winner.trial.build_key;
    row->winner = Winner();
    row->winner.role = WinnerRole::dynamic;
    row->winner.trial = std::move(trial);
    return row;
  }

  /// A binary with specialised dims serves only their values.
  bool serves(const Config& config, const std::string& implementation_hash, const ShapeDims& tuned_for,
              const Problem& problem) {
    if (!config.specialised()) return true;
    const std::vector<std::string>& fixed = recipe_(implementation_hash).specialize;
    for (std::size_t d = 0; d < tuned_for.size(); ++d) {
      const auto& [name, value] = problem.dims[d];
      // Where it is not known which, all of them.
      const bool is_fixed = fixed.empty() || std::ranges::find(fixed, name) != fixed.end();
      if (is_fixed && value != tuned_for[d]) return false;
    }
    return true;
  }

  /// Of a match all but the freshness is known beforehand.
  bool offer(Match match, std::optional<WinnerRow> row, bool needs_compile = false) {
    if (!row) return false;
    match.freshness = freshness_of(*row, versions_, current_);
    MatchCandidate candidate{match, std::move(*row), needs_compile};
    return readable([&] { return take_(candidate); });
  }

  const WinnerSource& source_;
  const DeviceFacts& device_;
  const Versions& versions_;
  const std::vector<std::string>& current_;
  const std::function<bool(MatchCandidate&)>& take_;
  bool with_compiles_;
  const Match* better_than_;
  RecipeOf recipe_;
  std::exception_ptr unreadable_;
  std::size_t failures_ = 0;
  /// Implementation and text of what was offered as nearest of one device and mode, so that nothing is offered twice.
  std::set<std::pair<std::string, std::string>> offered_;
};

/// Other stored devices of the same architecture, the most alike first; none for the emulator.
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

Freshness freshness_of(const WinnerRow& row, const Versions& versions, const std::vector<std::string>& current) {
  const bool retired = !current.empty() && std::ranges::find(current, row.implementation_hash) == current.end();
  return retired || differs(versions, row.winner.trial.versions) ? Freshness::stale : Freshness::fresh;
}

std::string offer_candidates(const WinnerSource& source, const Problem& problem, const std::string& interface_hash,
                             const DeviceFacts& device, const Versions& versions,
                             const std::vector<std::string>& current_implementations,
                             const std::function<bool(MatchCandidate&)>& take, bool with_compiles,
                             const Match* better_than) {
  Offer offer(source, device, versions, current_implementations, take, with_compiles, better_than);
  // The stages, in their order; true once a candidate was taken.
  using Stage = bool (Offer::*)(const ProblemKey&, DeviceFit);
  const auto taken = [&](Stage stage, const std::vector<ProblemKey>& keys, DeviceFit fit) {
    return std::ranges::any_of(
        keys, [&](const ProblemKey& key) { return offer.readable([&] { return (offer.*stage)(key, fit); }); });
  };
  const auto any_stage = [&](const std::vector<ProblemKey>& keys, DeviceFit fit) {
    return taken(&Offer::exact, keys, fit) || taken(&Offer::nearest, keys, fit) || taken(&Offer::base, keys, fit);
  };
  const auto key_of = [&](const DeviceFacts& facts) {
    return ProblemKey{problem, interface_hash, facts.fingerprint()};
  };
  bool served = any_stage({key_of(device)}, DeviceFit::same_device);
  if (!served) {
    std::vector<ProblemKey> others;
    for (const DeviceFacts& relative : offer.readable([&] { return relatives(source, device); })) {
      others.push_back(key_of(relative));
    }
    served = any_stage(others, DeviceFit::same_architecture);
  }
  if (!offer.unreadable()) return {};
  try {
    std::rethrow_exception(offer.unreadable());
  } catch (const CacheError& error) {
    if (!served) throw;
    return error.what();
  }
}

MatchedRow match(const WinnerSource& source, const Problem& problem, const std::string& interface_hash,
                 const DeviceFacts& device, const Versions& versions,
                 const std::vector<std::string>& current_implementations) {
  MatchedRow served;
  static_cast<void>(offer_candidates(source, problem, interface_hash, device, versions, current_implementations,
                                     [&](MatchCandidate& candidate) {
                                       served = {candidate.match, std::move(candidate.row)};
                                       return true;
                                     }));
  return served;
}

}  // namespace tilewright
