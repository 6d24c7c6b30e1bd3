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
#include "tuner/compile/source.hpp"
#include "tuner/definition/space.hpp"
#include "tuner/prune/pruner.hpp"
#include "tuner/search/search.hpp"
#include "tuner/sweep/builder.hpp"
#include "tuner/sweep/config_runner.hpp"
#include "tuner/sweep/recheck.hpp"
#include "tuner/sweep/regime.hpp"
#include "tuner/sweep/search_options.hpp"

/// One problem of a sweep, from its candidates to its winners. It requests builds ahead, so that binaries compile while
/// other problems are measured. It holds device memory only from its first trial to its end. Guarded by the sweep lock.
namespace tilewright {

/// The settings that all problems of a sweep share on devices of one model. They and their pointers must outlive the
/// problems.
struct SweepSetting : SearchOptions {
  /// Facts that all devices of the group share.
  DeviceFacts facts;
  Store* store = nullptr;
  Builder* builder = nullptr;
  TrialSetting trial;
  /// As SweepRequest::only; null if no configs are named.
  const std::map<std::string, std::set<std::string>>* only = nullptr;
  /// The winners to recheck; null: the problem is tuned like any other. `leading` restricts a recheck to the former
  /// leaders.
  const Rechecks* rechecks = nullptr;
  bool leading = false;
  std::function<void(const std::string&)> note;
};

struct Forecast;

/// The texts of the problem's only candidates; null if all legal configs may be candidates.
[[nodiscard]] const std::set<std::string>* named_configs(const SweepSetting& setting, const Problem& problem);

/// Whether a sweep of this problem prunes configs; not if its configs were named.
[[nodiscard]] bool prunes(const SweepSetting& setting, const Problem& problem);

/// Makes the pruner of a problem's candidates.
[[nodiscard]] Pruner make_pruner(const OpDefinition& definition, const Problem& problem, const DeviceFacts& device,
                                 MeasureMode mode, const std::vector<Candidate>& candidates);

class ProblemRun {
 public:
  /// Expands the space and looks up known trials in the cache.
  ProblemRun(const SweepSetting& setting, const OpDefinition& definition, Problem problem);

  /// Requests some builds for the next looks, unless `most` compiles are waiting or running. Returns true if none is
  /// left to request.
  bool compile_ahead(std::size_t most);

  /// Call before the first look. Sets the device, and reads neighbouring shapes from the cache. After `deadline` looks
  /// end once a config besides the base has a time, or once some failed and the base has one. If anything is left to
  /// measure, times of other GPUs of the model are discarded, but those of configs that were clearly slower there.
  void begin(TrialDevice& trial_device, std::chrono::steady_clock::time_point deadline);

  /// Whether the look can be made without waiting for a compiler.
  [[nodiscard]] bool ready(const Look& look);
  /// Requests what the look needs, and waits a moment or until some build finishes.
  void wait_for(const Look& look);

  /// The next look, preferably one with a ready binary; nullopt if the search is over.
  [[nodiscard]] std::optional<Look> next();

  /// Makes the look and stores its trial. Nullopt if interrupted. Takes a trial that another sweep of the cache has
  /// stored meanwhile. Throws DeviceError if the problem cannot be set up, DeviceLost if the trial, which is stored,
  /// lost the device.
  [[nodiscard]] std::optional<Trial> measure(const Look& look);

  /// Times the leaders in turns while nothing compiles, chooses winners from all known trials, checks new winners on
  /// other data, and stores them. Nullopt if interrupted. `meanwhile` is called while waiting for idle compilers; it
  /// returns false if it had nothing to do.
  [[nodiscard]] std::optional<std::vector<Winner>> finish(std::function<bool()> meanwhile = {});

  /// After finish(): the former leaders do not stand, nothing was stored, and all configs must be searched.
  [[nodiscard]] bool must_widen() const noexcept { return must_widen_; }

  /// After finish(): the stored winners stand, as this run did not time one of them (outlasts()).
  [[nodiscard]] bool is_outlasted() const noexcept { return is_outlasted_; }

  /// Times the winner's config again. For ceilings, which are compared with times of the same run. Nullopt if
  /// interrupted.
  [[nodiscard]] std::optional<Timing> time_again(const Winner& winner);

  /// The problem's forecast (forecast.hpp). Call before begin().
  [[nodiscard]] Forecast forecast(const std::string& compiler) const;

  /// The UUID of the GPU whose stored times are reused if it measures the problem; empty if there are none.
  [[nodiscard]] std::string home() const;

  /// Frees the device memory.
  void release() { runner_.reset(); }

  [[nodiscard]] const OpDefinition& definition() const noexcept { return definition_; }
  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] std::size_t candidates() const noexcept { return candidates_.size(); }
  /// Configs that a constraint or a device limit forbids.
  [[nodiscard]] std::size_t forbidden() const noexcept;
  /// Legal configs left out by a limit on their number.
  [[nodiscard]] std::size_t unconsidered() const noexcept { return unconsidered_; }
  /// Candidates not measured because they cannot win.
  [[nodiscard]] std::size_t pruned() const;
  [[nodiscard]] std::size_t known_before() const noexcept { return known_before_; }
  /// Whether some candidates are left to look at.
  [[nodiscard]] bool has_work() const { return !search_->ask(1).empty(); }
  /// Configs tried since the search was made.
  [[nodiscard]] std::size_t tried() const noexcept { return search_->tried(); }
  [[nodiscard]] bool is_best_so_far(const Trial& trial) const;
  /// The trials by candidate, including those of other sweeps.
  [[nodiscard]] const std::vector<std::optional<Trial>>& trials() const noexcept { return search_->trials(); }

 private:
  struct Binary {
    Build build;
    std::vector<std::byte> bytes;
  };
  [[nodiscard]] std::map<std::string, Trial> known_trials() const;
  /// Keeps only the base, `kept`, and the leaders of the problem that this one follows (OpDefinition::follows). Keeps
  /// all if it follows none or none of the leaders is legal here.
  void follow(std::vector<Candidate>& legal, const std::set<std::string>& kept) const;
  /// Sets known_before_ to the known candidates that the search does not ask for.
  void count_known();
  /// Makes trials of candidates pruned before compiling. store_pruned() stores them.
  void prune();
  void store_pruned();
  [[nodiscard]] Trial pruned_trial(std::size_t candidate, const Build& build, std::string reason) const;
  /// The stored trial of a candidate that is pruned by its build; nullopt if it must be tried.
  [[nodiscard]] std::optional<Trial> prune_compiled(std::size_t candidate, const Build& build);
  /// The problem itself, with cached times of configs that this run measures again: of another GPU or driver, or all
  /// with --again. They guide the search.
  [[nodiscard]] Neighbour measured_anew() const;
  /// Whether the stored best is a candidate that this run did not reach, or the stored dynamic winner is one that a
  /// bound kept this run from. A short sweep must not undo a long one. `winners`: those of this run.
  [[nodiscard]] bool outlasts(const std::vector<Winner>& stored, const std::vector<Winner>& winners) const;
  /// Whether the trial has a time of another GPU.
  [[nodiscard]] bool is_foreign(const Trial& trial) const;
  /// Discards times of other GPUs of configs that may win here, and the base's. False if there are none.
  bool forget_foreign();
  /// The look's trial from another concurrent sweep of the cache.
  [[nodiscard]] std::optional<Trial> from_elsewhere(const Look& look, std::chrono::milliseconds between_looks);
  /// The nearest shapes with their current winners; neighbours() adds their trials.
  [[nodiscard]] Neighbours shapes_nearby() const;
  [[nodiscard]] Neighbours neighbours() const;
  /// Makes a search and recalls all known trials.
  void make_search(Neighbours known);
  void request_reference();
  /// The source of a candidate's build.
  [[nodiscard]] GeneratedSource source_of(std::size_t candidate) const;
  /// The key of a candidate's build, perhaps not requested.
  const std::string& key_of(std::size_t candidate);
  /// Requests a candidate's build and returns its key.
  const std::string& build_of(std::size_t candidate);
  /// The current recheck of a winner; null if there is none.
  [[nodiscard]] const Recheck* recheck() const;
  [[nodiscard]] Regime regime() const;
  /// Keeps the earlier findings of winners among the leaders. False if they do not stand.
  [[nodiscard]] bool keep_evidence(const std::vector<Winner>& stored, std::vector<Winner>& winners);
  /// Returns false if interrupted.
  [[nodiscard]] bool hold_final();
  /// Times candidates in turns while nothing compiles. Returns those without times; nullopt if interrupted.
  [[nodiscard]] std::optional<std::vector<std::size_t>> time_together(const std::vector<std::size_t>& indices);
  /// Times a candidate that could not be timed in turns, because memory ran out or another one ended the run. A failure
  /// here is its own. False if interrupted.
  [[nodiscard]] bool time_alone(std::size_t index);
  void keep_final(std::size_t index, const Timing& timing, const Phases& phases);
  /// Stores the failure of a config that passed before.
  void keep_failure(Trial trial, TrialStatus status, const std::string& reason, const Phases& phases);
  /// Times possible winners under load, each alone, while nothing compiles. False if interrupted.
  [[nodiscard]] bool load_leaders();
  /// Whether the stored winner is slower in burst than a config that was known before this run.
  [[nodiscard]] bool is_beaten(const Winner& stored) const;
  /// Whether the stored winners are what would be chosen in this regime, and may serve.
  [[nodiscard]] bool is_chosen(const std::vector<Winner>& stored) const;
  [[nodiscard]] bool are_known(const std::vector<Winner>& winners) const;
  /// Times a winner that was timed elsewhere and has no binary, once (`timed`): that keeps its binary. Nothing if
  /// interrupted, false if there is none.
  [[nodiscard]] std::optional<bool> time_unbuilt(const std::vector<Winner>& winners, std::set<std::int64_t>& timed);
  [[nodiscard]] std::set<std::size_t> unloaded_leaders() const;
  /// Makes the runner; false if interrupted.
  [[nodiscard]] bool set_up();
  /// Adds the set-up time to the phases of the first trial after it.
  [[nodiscard]] Phases after_set_up(Phases phases);
  /// Throws DeviceLost unless the device still answers after `failed`.
  void require_alive(const Trial& failed) const;
  void store_trial(Trial& trial, const std::string& implementation_hash);
  /// Verifies a winner again before it is served. Stores and reports a failure.
  void check_again(const Trial& trial);
  /// The binary of a trial, compiled if the cache lacks it; empty if interrupted.
  [[nodiscard]] Binary binary_of(const Trial& trial);

  const SweepSetting& setting_;
  const OpDefinition& definition_;
  Problem problem_;
  ProblemKey key_;
  TrialDevice* trial_device_ = nullptr;
  std::vector<Candidate> candidates_;
  std::size_t unconsidered_ = 0;
  /// Forbidden configs by rule.
  std::map<std::string, std::int64_t> forbidden_;
  /// Candidates by config text.
  std::map<std::string, std::size_t> index_;
  /// By candidate: the cached trial, the build key once needed, and whether the build is requested.
  std::vector<std::optional<Trial>> known_;
  std::vector<std::string> builds_;
  std::vector<bool> requested_;
  std::size_t known_before_ = 0;
  /// Null if nothing is pruned.
  std::unique_ptr<Pruner> pruner_;
  /// The cache's trials at the last change by others, and the time of the last check.
  std::map<std::string, Trial> elsewhere_;
  std::int64_t version_ = 0;
  std::chrono::steady_clock::time_point looked_;
  std::unique_ptr<Search> search_;
  /// The candidates of the last final.
  std::vector<std::size_t> met_;
  /// Times under load, by candidate.
  Loads loaded_;
  /// Whether this run stored a trial.
  bool told_ = false;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  bool must_widen_ = false;
  bool is_outlasted_ = false;
  /// From finish().
  std::function<bool()> meanwhile_;
  std::string reference_key_;
  std::unique_ptr<ConfigRunner> runner_;
  /// The time that making the runner took, until a trial includes it.
  std::int64_t set_up_us_ = 0;
};

}  // namespace tilewright
