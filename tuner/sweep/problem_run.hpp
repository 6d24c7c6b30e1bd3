// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/definition/space.hpp"
#include "tuner/search/strategy.hpp"
#include "tuner/sweep/builder.hpp"
#include "tuner/sweep/trials.hpp"

/// One problem of a sweep, from its candidates to its winners. It is asked for work ahead of time, so that binaries are
/// compiled while other problems are measured, and holds device memory from its first trial to its end only.
namespace tilewright {

/// What the problems of one sweep share; all must outlive them.
struct SweepSetting {
  Workplace* workplace = nullptr;
  Store* store = nullptr;
  Builder* builder = nullptr;
  TrialSetting trial;
  StopRule stop;
  std::size_t max_configs = 0;
  bool again = false;
  std::set<TrialStatus> retry;
  std::function<void(const std::string&)> note;
};

/// A candidate that is to be measured, and the build that it runs.
struct Work {
  std::size_t candidate = 0;
  std::string build_key;
};

class ProblemRun {
 public:
  /// Expands the space and asks the cache what is known.
  ProblemRun(const SweepSetting& setting, const OpDefinition& definition, Problem problem);

  /// The next work, its build requested; nothing when the search is over. May be called ahead of `measure`.
  [[nodiscard]] std::optional<Work> ask();

  /// Makes the trial and stores it. Nothing when interrupted before it was complete. Throws DeviceError when the
  /// problem itself cannot be set up, DeviceLost when the trial took the device with it; it is stored all the same.
  [[nodiscard]] std::optional<Trial> measure(const Work& work);

  /// Chooses the winners of all trials known, old and new, checks those that are new on other data, and stores them.
  /// Nothing when interrupted.
  [[nodiscard]] std::optional<std::vector<Winner>> finish();

  /// Times the config of `winner` again, now. For ceilings, which must be of the same run as what they are compared
  /// with. Nothing when interrupted.
  [[nodiscard]] std::optional<Timing> time_again(const Winner& winner);

  /// Frees the device memory.
  void release() { runner_.reset(); }

  [[nodiscard]] const OpDefinition& definition() const noexcept { return definition_; }
  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] std::size_t candidates() const noexcept { return candidates_.size(); }
  [[nodiscard]] std::size_t known_before() const noexcept { return known_before_; }
  /// Some of its candidates were not known when it was set up.
  [[nodiscard]] bool has_work() const noexcept { return known_before_ < candidates_.size(); }
  [[nodiscard]] bool is_best_so_far(const Trial& trial) const;

 private:
  struct Binary {
    Build build;
    std::vector<std::byte> bytes;
  };
  [[nodiscard]] std::map<std::string, Trial> known_trials() const;
  void request_reference();
  /// Makes the runner; false when interrupted.
  [[nodiscard]] bool set_up();
  /// Throws unless the device still answers after `failed`.
  void require_alive(const Trial& failed) const;
  void store_trial(Trial& trial, const std::string& implementation_hash);
  void check_again(Trial trial);
  [[nodiscard]] Binary binary_of(const Trial& trial) const;
  [[nodiscard]] std::vector<Trial> trials_in_order() const;

  const SweepSetting& setting_;
  const OpDefinition& definition_;
  Problem problem_;
  ProblemKey key_;
  std::vector<Candidate> candidates_;
  /// Candidates by their text.
  std::map<std::string, std::size_t> index_;
  /// By candidate; what the cache knew, and what was made since.
  std::vector<std::optional<Trial>> trials_;
  std::size_t known_before_ = 0;
  std::unique_ptr<Strategy> strategy_;
  std::string reference_key_;
  std::unique_ptr<Trials> runner_;
};

}  // namespace tilewright
