// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/definition/space.hpp"
#include "tuner/search/search.hpp"
#include "tuner/sweep/builder.hpp"
#include "tuner/sweep/regime.hpp"
#include "tuner/sweep/trials.hpp"

/// One problem of a sweep, from its candidates to its winners. It is asked for work ahead of time, so that binaries are
/// compiled while other problems are measured, and holds device memory from its first trial to its end only.
namespace tilewright {

/// What the problems of one sweep share; all must outlive them.
struct SweepSetting {
  /// Of the device, and of all that are like it.
  DeviceFacts facts;
  Store* store = nullptr;
  Builder* builder = nullptr;
  TrialSetting trial;
  StopRule stop;
  Regime regime = Regime::burst;
  std::size_t max_configs = 0;
  /// As SweepRequest::only; null: no problem is named.
  const std::map<std::string, std::set<std::string>>* only = nullptr;
  /// How to search (search/strategy.hpp), and how many configs it may try for each problem; 0: no bound.
  std::string strategy = "exhaustive";
  std::size_t max_trials = 0;
  std::uint64_t seed = 1;
  bool prune = true;
  bool again = false;
  std::set<TrialStatus> retry;
  std::function<void(const std::string&)> note;
};

class ProblemRun {
 public:
  /// Expands the space and asks the cache what is known.
  ProblemRun(const SweepSetting& setting, const OpDefinition& definition, Problem problem);

  /// Requests some builds for what will be looked at next, unless `most` compiles wait or run already; true when there are
  /// no more to request.
  bool compile_ahead(std::size_t most);

  /// Before the first look: says where, and learns what the cache knows of neighbouring shapes by now. After `deadline`, and
  /// one config timed, nothing more is looked at. Where something is left to measure, all is measured at `workplace`: times
  /// of other GPUs, of the same model even, are not known then.
  void begin(Workplace& workplace, std::chrono::steady_clock::time_point deadline);

  /// The next look; nothing when the search is over. Of those that may be made, one whose binary is there.
  [[nodiscard]] std::optional<Look> next();

  /// Makes the look and stores its trial. Nothing when interrupted before it was complete. Throws DeviceError when the
  /// problem itself cannot be set up, DeviceLost when the trial took the device with it; it is stored all the same.
  /// A trial that another sweep of the same cache has stored meanwhile is taken as it is.
  [[nodiscard]] std::optional<Trial> measure(const Look& look);

  /// Times the leaders in turns while nothing compiles, chooses the winners of all trials known, old and new, checks those that are new on other data, and stores them.
  /// Nothing when interrupted.
  [[nodiscard]] std::optional<std::vector<Winner>> finish();

  /// Times the config of `winner` again, now. For ceilings, which must be of the same run as what they are compared
  /// with. Nothing when interrupted.
  [[nodiscard]] std::optional<Timing> time_again(const Winner& winner);

  /// The GPU of the times that are known, and still count where the problem is measured there; empty: there are none.
  [[nodiscard]] std::string home() const;

  /// Frees the device memory.
  void release() { runner_.reset(); }

  [[nodiscard]] const OpDefinition& definition() const noexcept { return definition_; }
  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] std::size_t candidates() const noexcept { return candidates_.size(); }
  [[nodiscard]] std::size_t known_before() const noexcept { return known_before_; }
  /// Some of its candidates were not known when it was set up.
  [[nodiscard]] bool has_work() const { return !search_->ask(1).empty(); }
  /// Configs tried since it was set up.
  [[nodiscard]] std::size_t tried() const noexcept { return search_->tried(); }
  [[nodiscard]] bool is_best_so_far(const Trial& trial) const;

 private:
  struct Binary {
    Build build;
    std::vector<std::byte> bytes;
  };
  [[nodiscard]] std::map<std::string, Trial> known_trials() const;
  /// Asks the search what is not known; sets known_before_.
  void count_known();
  /// A time of another GPU than that at hand.
  [[nodiscard]] bool is_foreign(const Trial& trial) const;
  /// What another sweep of the same cache has found out meanwhile.
  [[nodiscard]] std::optional<Trial> from_elsewhere(const Look& look);
  [[nodiscard]] Knowledge neighbours() const;
  /// A search that knows what is known.
  void make_search(Knowledge known);
  void request_reference();
  /// The key of a candidate's build, requested.
  const std::string& build_of(std::size_t candidate);
  /// False when interrupted.
  [[nodiscard]] bool hold_final();
  /// Times those who may win under load, each alone, while nothing compiles; false when interrupted.
  [[nodiscard]] bool load_leaders();
  /// Makes the runner; false when interrupted.
  [[nodiscard]] bool set_up();
  /// Throws unless the device still answers after `failed`.
  void require_alive(const Trial& failed) const;
  void store_trial(Trial& trial, const std::string& implementation_hash);
  void check_again(Trial trial);
  [[nodiscard]] Binary binary_of(const Trial& trial) const;

  const SweepSetting& setting_;
  const OpDefinition& definition_;
  Problem problem_;
  ProblemKey key_;
  Workplace* workplace_ = nullptr;
  std::vector<Candidate> candidates_;
  /// Candidates by their text.
  std::map<std::string, std::size_t> index_;
  /// By candidate: what the cache knew, and builds that were requested.
  std::vector<std::optional<Trial>> known_;
  std::vector<std::string> builds_;
  std::size_t known_before_ = 0;
  /// What was in the cache when others had last changed it, and when that was looked at.
  std::map<std::string, Trial> elsewhere_;
  std::int64_t version_ = 0;
  std::chrono::steady_clock::time_point looked_;
  std::unique_ptr<Search> search_;
  /// Who met in the last final.
  std::vector<std::size_t> met_;
  /// Times under load, by candidate.
  Loads loaded_;
  /// A trial was made, of whatever kind.
  bool told_ = false;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  std::string reference_key_;
  std::unique_ptr<Trials> runner_;
};

}  // namespace tilewright
