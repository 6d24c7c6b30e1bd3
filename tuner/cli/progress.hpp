// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tuner/app/listener.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/sweep_state.hpp"

/// A sweep's progress on stderr: a live block on a terminal, timed lines elsewhere, or JSON events (docs/progress.md).
/// Failures are printed as they happen, the first few of each kind; the cache has all of them.
namespace tilewright::cli {

/// Thread-safe. Serves several sweeps one after the other.
class Progress : public app::Listener {
 public:
  Progress(Console& console, bool quiet);
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// The listener of a device has a part of the block; its lines begin with the device's name.
  [[nodiscard]] SweepListener& on(const std::string& device) override;
  void problem_started(const Problem& problem, std::size_t index, std::size_t of, std::size_t configs,
                       std::size_t already_measured) override;
  void trial_done(const Problem& problem, const Trial& trial, bool is_best_so_far) override;
  void compiling(std::size_t unfinished) override;
  void problem_done(const Problem& problem, const std::vector<Winner>& winners) override;
  void note(const std::string& line) override;
  void tell(const std::string& line) override;
  void warn(const std::string& line) override;
  void planned(std::size_t done, std::size_t of) override;
  void sweep_done(const SweepSummary& summary, const std::filesystem::path& cache) override;
  [[nodiscard]] bool cancelled() const override;
  /// At the very end, also if quiet: tells how many configs were wrong, crashed or hung in all sweeps. True if there
  /// was a failure of a kind in `fail_on`.
  [[nodiscard]] bool conclude(const std::set<TrialStatus>& fail_on);

 private:
  /// The progress of one device.
  class Lane : public SweepListener {
   public:
    Lane(Progress& progress, std::string device) : progress_(progress), device_(std::move(device)) {}
    void problem_started(const Problem& problem, std::size_t index, std::size_t of, std::size_t configs,
                         std::size_t already_measured) override;
    void trial_done(const Problem& problem, const Trial& trial, bool is_best_so_far) override;
    void compiling(std::size_t unfinished) override { progress_.compiling(unfinished); }
    void problem_done(const Problem& problem, const std::vector<Winner>& winners) override;
    void note(const std::string& line) override;

    [[nodiscard]] const std::string& device() const noexcept { return device_; }

   private:
    [[nodiscard]] LaneState& state();
    /// The state of a problem under way, moved to the front of its lane.
    [[nodiscard]] ProblemState& problem_of(const std::string& key);
    void tell_failure(const Problem& problem, const Trial& trial);
    /// "cuda:1 ", or empty if there is one device.
    [[nodiscard]] std::string prefix() const { return device_.empty() ? "" : device_ + " "; }

    Progress& progress_;
    std::string device_;
  };

  /// An event of the sweep, with the device if there are several.
  [[nodiscard]] nlohmann::ordered_json event(const char* kind, const std::string& device) const;
  void line(const std::string& text);
  /// Removes the block, and forgets the sweep.
  void clear();
  /// Shows the state of the sweep periodically, on a thread of its own.
  void keep_showing(const std::stop_token& stop);
  void show();
  [[nodiscard]] double seconds() const;

  Console& console_;
  bool quiet_;
  bool live_;
  bool json_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::map<TrialStatus, std::size_t> told_;
  std::map<TrialStatus, std::size_t> failures_;
  std::chrono::steady_clock::time_point planned_at_ = start_;
  SweepState state_;
  std::set<std::string> seen_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  Lane lane_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  /// Last, so that it ends before the members that it shows.
  std::jthread shower_;
};

}  // namespace tilewright::cli
