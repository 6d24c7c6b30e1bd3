// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "tuner/cli/console.hpp"
#include "tuner/sweep/sweep.hpp"

/// A sweep's progress on stderr: one live line on a terminal, timed lines elsewhere. Failures are told as they
/// happen, the first few of each kind; all of them are in the cache.
namespace tilewright::cli {

class Progress : public SweepListener {
 public:
  Progress(Console& console, bool quiet);
  ~Progress() override { end(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void problem_started(const Problem& problem, std::size_t index, std::size_t of, std::size_t configs,
                       std::size_t already_measured) override;
  void trial_done(const Problem& problem, const Trial& trial, bool is_best_so_far) override;
  void problem_done(const Problem& problem, const std::vector<Winner>& winners) override;
  void note(const std::string& line) override;
  /// The live line goes.
  void end() { console_.clear_live(); }

 private:
  void line(const std::string& text);
  void show_state();
  void tell_failure(const Problem& problem, const Trial& trial);
  [[nodiscard]] double seconds() const;
  /// Time to go, judged by the trials made so far; empty while there are too few.
  [[nodiscard]] std::string time_to_go() const;

  Console& console_;
  bool quiet_;
  bool live_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double last_shown_ = 0;
  std::string problem_;
  std::size_t index_ = 0;
  std::size_t of_ = 0;
  std::size_t configs_ = 0;
  std::size_t done_ = 0;
  std::size_t known_ = 0;
  std::size_t failed_ = 0;
  std::size_t made_ = 0;
  std::optional<Trial> best_;
  std::map<TrialStatus, std::size_t> told_;
};

}  // namespace tilewright::cli
