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

/// One problem of a sweep, from its candidates to its winners. It is asked for work ahead of time, so that binaries are
/// compiled while other problems are measured, and holds device memory from its first trial to its end only.
namespace tilewright {

/// The settings that the problems of one sweep share on the devices of a model; all must outlive them.
struct SweepSetting : SearchOptions {
  /// Of the device, and of all that are like it.
  DeviceFacts facts;
  Store* store = nullptr;
  Builder* builder = nullptr;
  TrialSetting trial;
  /// As SweepRequest::only; null: no problem is named.
  const std::map<std::string, std::set<std::string>>* only = nullptr;
  /// The winner to be judged anew, of the same problem; null: it is tuned like any other. `leading`: of the configs
  /// that led alone.
  const Rechecks* rechecks = nullptr;
  bool leading = false;
  std::function<void(const std::string&)> note;
};

struct Forecast;

/// Whether a sweep of this problem leaves out configs that cannot win; not where its configs were named.
[[nodiscard]] bool prunes(const SweepSetting& setting, const Problem& problem);

/// Makes the judge of these candidates of a problem.
[[nodiscard]] Pruner make_pruner(const OpDefinition& definition, const Problem& problem, const DeviceFacts& device,
                                 MeasureMode mode, const std::vector<Candidate>& candidates);

class ProblemRun {
 public:
  /// Expands the space and asks the cache what is known.
  ProblemRun(const SweepSetting& setting, const OpDefinition& definition, Problem problem);

  /// Requests some builds for what will be looked at next, unless `most` compiles wait or run already; true when there
  /// are no more to request.
  bool compile_ahead(std::size_t most);

  /// Before the first look: says where, and learns what the cache knows of neighbouring shapes by now. After
  /// `deadline`, and one config timed, nothing more is looked at. Where something is left to measure, all is measured
  /// at `trial_device`: times of other GPUs, of the same model even, are not known then.
  void begin(TrialDevice& trial_device, std::chrono::steady_clock::time_point deadline);

  /// The look can be made without waiting for a compiler.
  [[nodiscard]] bool ready(const Look& look);
  /// Has the compilers make what the look needs, and waits a moment, or until something is finished.
  void wait_for(const Look& look);

  /// The next look; nothing when the search is over. Of those that may be made, one whose binary is there.
  [[nodiscard]] std::optional<Look> next();

  /// Makes the look and stores its trial. Nothing when interrupted before it was complete. Throws DeviceError when the
  /// problem itself cannot be set up, DeviceLost when the trial took the device with it; it is stored all the same.
  /// A trial that another sweep of the same cache has stored meanwhile is taken as it is.
  [[nodiscard]] std::optional<Trial> measure(const Look& look);

  /// Times the leaders in turns while nothing compiles, chooses the winners of all trials known, old and new, checks
  /// those that are new on other data, and stores them. Nothing when interrupted. `meanwhile` is called instead of
  /// waiting until the compilers are idle; false: it had nothing to do.
  [[nodiscard]] std::optional<std::vector<Winner>> finish(std::function<bool()> meanwhile = {});

  /// After finish(): those that led do not stand, and nothing was stored; all configs must be searched.
  [[nodiscard]] bool must_widen() const noexcept { return must_widen_; }

  /// Times the config of `winner` again, now. For ceilings, which must be of the same run as what they are compared
  /// with. Nothing when interrupted.
  [[nodiscard]] std::optional<Timing> time_again(const Winner& winner);

  /// Its forecast (forecast.hpp); before begin().
  [[nodiscard]] Forecast forecast(const std::string& compiler) const;

  /// The UUID of the GPU whose stored times are reused if the problem is measured there again; empty: there are none.
  [[nodiscard]] std::string home() const;

  /// Frees the device memory.
  void release() { runner_.reset(); }

  [[nodiscard]] const OpDefinition& definition() const noexcept { return definition_; }
  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] std::size_t candidates() const noexcept { return candidates_.size(); }
  /// Points of the space that a constraint or a limit of the device forbids.
  [[nodiscard]] std::size_t forbidden() const noexcept;
  /// Legal, and left out since only so many were to be considered.
  [[nodiscard]] std::size_t unconsidered() const noexcept { return unconsidered_; }
  /// Candidates that are not measured since they cannot win.
  [[nodiscard]] std::size_t pruned() const;
  [[nodiscard]] std::size_t known_before() const noexcept { return known_before_; }
  /// Some of its candidates were not known when it was set up.
  [[nodiscard]] bool has_work() const { return !search_->ask(1).empty(); }
  /// Configs tried since it was set up.
  [[nodiscard]] std::size_t tried() const noexcept { return search_->tried(); }
  [[nodiscard]] bool is_best_so_far(const Trial& trial) const;
  /// The trials of its configs, those of other sweeps included.
  [[nodiscard]] const std::vector<std::optional<Trial>>& trials() const noexcept { return search_->trials(); }

 private:
  struct Binary {
    Build build;
    std::vector<std::byte> bytes;
  };
  [[nodiscard]] std::map<std::string, Trial> known_trials() const;
  /// Leaves of the candidates the base and those that led in the problem that this one follows
  /// (OpDefinition::follows); all, where it follows none, or none of these is legal here.
  void follow(std::vector<Candidate>& legal) const;
  /// Asks the search what is not known; sets known_before_.
  void count_known();
  /// Makes trials of those that are left out before anything is compiled; stored with store_pruned().
  void prune();
  void store_pruned();
  [[nodiscard]] Trial pruned_trial(std::size_t candidate, const Build& build, std::string reason) const;
  /// The trial, stored and told, of a candidate that is left out now that its build is known; nothing: it must be
  /// tried.
  [[nodiscard]] std::optional<Trial> prune_compiled(std::size_t candidate, const Build& build);
  /// The problem itself, with the times that the cache has of configs that this run measures anew: those of another
  /// GPU or driver, or all, if asked for --again. They tell where to look first.
  [[nodiscard]] Neighbour measured_anew() const;
  /// The stored best still is one of the candidates, and this run ended before it came to it: a short sweep never
  /// undoes a long one.
  [[nodiscard]] bool outlasts(const std::vector<Winner>& stored) const;
  /// A time of another GPU than that at hand.
  [[nodiscard]] bool is_foreign(const Trial& trial) const;
  /// The trial that another sweep of the same cache has made meanwhile.
  [[nodiscard]] std::optional<Trial> from_elsewhere(const Look& look, std::chrono::milliseconds between_looks);
  /// The nearest shapes with their winners, as they are now; and with their trials.
  [[nodiscard]] Neighbours shapes_nearby() const;
  [[nodiscard]] Neighbours neighbours() const;
  /// A search that knows what is known.
  void make_search(Neighbours known);
  void request_reference();
  /// The source that a candidate is built from.
  [[nodiscard]] GeneratedSource source_of(std::size_t candidate) const;
  /// The key of a candidate's build; requested or not.
  const std::string& key_of(std::size_t candidate);
  /// The key of a candidate's build, requested.
  const std::string& build_of(std::size_t candidate);
  /// The recheck of a winner that is under way; null: none.
  [[nodiscard]] const Recheck* recheck() const;
  [[nodiscard]] Regime regime() const;
  /// Keeps the earlier findings of winners that led alone. False: none of them stands.
  [[nodiscard]] bool keep_evidence(const std::vector<Winner>& stored, std::vector<Winner>& winners);
  /// False when interrupted.
  [[nodiscard]] bool hold_final();
  /// Times them in turns, while nothing compiles. Returns those without times; nothing when interrupted.
  [[nodiscard]] std::optional<std::vector<std::size_t>> time_together(const std::vector<std::size_t>& indices);
  /// One that could not be timed in turns: memory did not suffice for all, or one of them ended them all. What fails
  /// alone has failed. False when interrupted.
  [[nodiscard]] bool time_alone(std::size_t index);
  void keep_final(std::size_t index, const Timing& timing, const Phases& phases);
  /// Stores that a config that was good before has failed.
  void keep_failure(Trial trial, TrialStatus status, const std::string& reason, const Phases& phases);
  /// Times those who may win under load, each alone, while nothing compiles; false when interrupted.
  [[nodiscard]] bool load_leaders();
  [[nodiscard]] std::set<std::size_t> unloaded_leaders() const;
  /// Makes the runner; false when interrupted.
  [[nodiscard]] bool set_up();
  /// The phases of what the device did first after setting up, if it did, with that before them.
  [[nodiscard]] Phases after_set_up(Phases phases);
  /// Throws unless the device still answers after `failed`.
  void require_alive(const Trial& failed) const;
  void store_trial(Trial& trial, const std::string& implementation_hash);
  /// Verifies a winner once more before it is served, and reports one that fails.
  void check_again(const Trial& trial);
  /// The binary of a trial, compiled where the cache has none; empty when interrupted meanwhile.
  [[nodiscard]] Binary binary_of(const Trial& trial);

  const SweepSetting& setting_;
  const OpDefinition& definition_;
  Problem problem_;
  ProblemKey key_;
  TrialDevice* trial_device_ = nullptr;
  std::vector<Candidate> candidates_;
  std::size_t unconsidered_ = 0;
  /// Points of the space that are no configs, by the rule that forbids them.
  std::map<std::string, std::int64_t> forbidden_;
  /// Candidates by their text.
  std::map<std::string, std::size_t> index_;
  /// By candidate: what the cache knew, keys of builds as far as they were needed, and which were requested.
  std::vector<std::optional<Trial>> known_;
  std::vector<std::string> builds_;
  std::vector<bool> requested_;
  std::size_t known_before_ = 0;
  /// Null where nothing is left out.
  std::unique_ptr<Pruner> pruner_;
  /// The cache's trials as of the last change by others, and when that was looked at.
  std::map<std::string, Trial> elsewhere_;
  std::int64_t version_ = 0;
  std::chrono::steady_clock::time_point looked_;
  std::unique_ptr<Search> search_;
  /// The candidates that met in the last final.
  std::vector<std::size_t> met_;
  /// Times under load, by candidate.
  Loads loaded_;
  /// A trial was made, of whatever kind.
  bool told_ = false;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  bool must_widen_ = false;
  /// Of finish().
  std::function<bool()> meanwhile_;
  std::string reference_key_;
  std::unique_ptr<ConfigRunner> runner_;
  /// The time that making the runner took, until a trial has it.
  std::int64_t set_up_us_ = 0;
};

}  // namespace tilewright
