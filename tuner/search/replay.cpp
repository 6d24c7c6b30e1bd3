// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/replay.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tuner/search/leaders.hpp"
#include "tuner/search/search.hpp"

namespace tilewright {
namespace {

constexpr std::size_t kNoBound = 1'000'000;

/// Answers looks from a recording as a device would: rounds in recorded order.
class Recorded {
 public:
  explicit Recorded(const Recording& recording) : recording_(recording) {}

  Trial look(const Look& look) {
    Trial trial = recording_.trials[look.candidate];
    trial.look = look.length;
    if (!timed(trial)) return trial;
    const std::vector<double> rounds = std::move(trial.timing->rounds_ns);
    std::vector<double> kept;
    const auto hopeless = [&](double value) { return look.rule.give_up_ns > 0 && value > look.rule.give_up_ns; };
    // Warm-up rounds are not recorded; the first round stands in.
    if (hopeless(rounds.front())) {
      kept.push_back(rounds.front());
      spend(trial, 1);
    } else {
      const auto most = look.length == LookLength::brief ? static_cast<std::size_t>(look.rule.max_rounds) : kNoBound;
      for (std::size_t i = 0; i < std::min(most, rounds.size()); ++i) {
        kept.push_back(rounds[i]);
        if (hopeless(rounds[i])) break;
      }
      spend(trial, kept.size() + 1);
    }
    set_rounds(trial, std::move(kept));
    return trial;
  }

  /// Gives each finalist as many rounds as all of them have.
  std::vector<Trial> final(const std::vector<std::size_t>& finalists) {
    std::size_t rounds = kNoBound;
    for (const std::size_t i : finalists) rounds = std::min(rounds, recording_.trials[i].timing->rounds_ns.size());
    std::vector<Trial> trials;
    for (const std::size_t i : finalists) {
      Trial trial = recording_.trials[i];
      trial.look = LookLength::final;
      trial.timing->rounds_ns.resize(rounds);
      spend(trial, rounds + 1);
      trials.push_back(std::move(trial));
    }
    return trials;
  }

  [[nodiscard]] double spent_ns() const noexcept { return spent_ns_; }

 private:
  void spend(const Trial& trial, std::size_t rounds) {
    spent_ns_ += static_cast<double>(rounds) * trial.timing->launches_per_round * trial.timing->median_ns;
  }

  static void set_rounds(Trial& trial, std::vector<double> rounds) {
    Timing timing = summarise(std::move(rounds));
    timing.launches_per_round = trial.timing->launches_per_round;
    timing.input_sets = trial.timing->input_sets;
    timing.floor_ns = trial.timing->floor_ns;
    trial.timing = std::move(timing);
  }

  const Recording& recording_;
  double spent_ns_ = 0;
};

double recorded_ns(const Recording& recording, const Config& config) {
  for (const Trial& trial : recording.trials) {
    if (trial.config == config && timed(trial)) return trial.timing->median_ns;
  }
  return 0;
}

/// The fastest trial, used as the recording's winner.
const Trial* fastest(const Recording& recording) {
  const Trial* best = nullptr;
  for (const Trial& trial : recording.trials) {
    if (timed(trial) && (best == nullptr || trial.timing->median_ns < best->timing->median_ns)) best = &trial;
  }
  return best;
}

/// The nearest recordings of other shapes of the same op, device and mode.
Neighbours others(const std::vector<Recording>& recordings, const Recording& but) {
  Neighbours known;
  for (const Recording& recording : recordings) {
    const bool alike = recording.problem.spec.op == but.problem.spec.op && recording.device == but.device &&
                       recording.mode == but.mode && recording.problem.dims != but.problem.dims;
    const Trial* best = alike ? fastest(recording) : nullptr;
    if (best == nullptr) continue;
    Neighbour& problem = known.emplace_back();
    problem.problem = recording.problem;
    problem.winner = best->config;
    std::copy_if(recording.trials.begin(), recording.trials.end(), std::back_inserter(problem.trials), timed);
  }
  return nearest(std::move(known), but.problem, kKnownNeighbours);
}

SearchSpace space_of(const Recording& recording, const std::string& strategy, const std::vector<Recording>& recordings,
                     const ReplaySetting& setting) {
  SearchSpace space;
  for (const Trial& trial : recording.trials) space.candidates.push_back(trial.config);
  if (const auto base = setting.bases.find(recording.problem.spec.op); base != setting.bases.end()) {
    space.base = base->second;
  }
  space.problem = recording.problem;
  space.idle = recording.idle;
  space.seed = setting.seed;
  if (strategy == "local" || strategy == "model") space.known = others(recordings, recording);
  return space;
}

Replayed play(const Recording& recording, SearchSpace space, const std::string& strategy, std::size_t max_trials) {
  Search search(std::move(space), strategy, max_trials);
  Recorded recorded(recording);
  for (auto looks = search.ask(1); !looks.empty(); looks = search.ask(1)) {
    search.tell(looks.front().candidate, recorded.look(looks.front()));
  }
  const std::vector<std::size_t> finalists = search.finalists();
  if (!finalists.empty()) {
    const std::vector<Trial> trials = recorded.final(finalists);
    for (std::size_t i = 0; i < finalists.size(); ++i) search.tell(finalists[i], trials[i]);
  }
  Replayed result;
  result.strategy = strategy;
  result.problem = recording.problem;
  result.candidates = recording.trials.size();
  result.trials = search.tried();
  result.measuring_ns = recorded.spent_ns();
  const std::vector<Winner> winners = search.winners();
  if (!winners.empty()) result.winner = winners.front().trial.config;
  return result;
}

Idle idle_of(const Store& store, const Store::Tried& tried) {
  for (const DeviceFacts& device : store.devices()) {
    if (device.fingerprint() != tried.key.device_fingerprint) continue;
    std::vector<ImplementationRecipe> recipes;
    for (const std::string& hash : tried.implementation_hashes) {
      recipes.push_back(store.implementation_by_hash(hash).value().recipe);
    }
    return tilewright::idle_of(store.interface_by_hash(tried.key.interface_hash).value(), std::move(recipes), device);
  }
  return {};
}

}  // namespace

std::vector<Recording> read_recordings(const Store& store, const std::string& op) {
  std::vector<Recording> recordings;
  for (const Store::Tried& tried : store.tried(op)) {
    Recording recording{tried.key.problem, tried.key.device_fingerprint, tried.mode, idle_of(store, tried), {}};
    for (const Trial& listed : store.trials(tried.key, tried.implementation_hashes, tried.mode)) {
      // A pruned config has no time, so it is not a candidate.
      if (listed.status == TrialStatus::pruned) continue;
      Trial trial = store.trial(listed.id).value();
      if (timed(trial) && (trial.look == LookLength::brief || trial.timing->rounds_ns.empty())) continue;
      trial.sweep = 0;
      recording.trials.push_back(std::move(trial));
    }
    if (fastest(recording) != nullptr) recordings.push_back(std::move(recording));
  }
  return recordings;
}

std::vector<Replayed> replay(const std::vector<Recording>& recordings, const std::string& strategy,
                             const ReplaySetting& setting) {
  std::vector<Replayed> results;
  for (const Recording& recording : recordings) {
    if (setting.wanted && !setting.wanted(recording)) continue;
    const Replayed all = play(recording, space_of(recording, "exhaustive", recordings, setting), "exhaustive", 0);
    Replayed result = strategy == "exhaustive" ? all
                                               : play(recording, space_of(recording, strategy, recordings, setting),
                                                      strategy, setting.max_trials);
    const double reference = recorded_ns(recording, all.winner);
    const double found = recorded_ns(recording, result.winner);
    result.loss = reference > 0 && found > 0 ? found / reference - 1 : 1;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace tilewright
