// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tuner/cli/console.hpp"
#include "tuner/sweep/sweep.hpp"

/// A sweep's progress on stderr: one live line on a terminal, timed lines elsewhere. Failures are told as they
/// happen, the first few of each kind; all of them are in the cache.
namespace tilewright::cli {

/// May be told by any thread.
class Progress : public SweepListener {
 public:
  Progress(Console& console, bool quiet);
  ~Progress() override { end(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A part of the live line, and lines that begin with the device's name.
  [[nodiscard]] SweepListener& on(const std::string& device) override;
  void problem_started(const Problem& problem, std::size_t index, std::size_t of, std::size_t configs,
                       std::size_t already_measured) override;
  void trial_done(const Problem& problem, const Trial& trial, bool is_best_so_far) override;
  void problem_done(const Problem& problem, const std::vector<Winner>& winners) override;
  void note(const std::string& line) override;
  /// The live line goes.
  void end();

 private:
  /// What one device is at.
  class Lane : public SweepListener {
   public:
    Lane(Progress& progress, const std::string& device);
    void problem_started(const Problem& problem, std::size_t index, std::size_t of, std::size_t configs,
                         std::size_t already_measured) override;
    void trial_done(const Problem& problem, const Trial& trial, bool is_best_so_far) override;
    void problem_done(const Problem& problem, const std::vector<Winner>& winners) override;
    void note(const std::string& line) override;
    /// Where it is, in a line.
    [[nodiscard]] std::string state() const;

   private:
    void tell_failure(const Problem& problem, const Trial& trial);
    /// Time to go, judged by the trials made so far; empty while there are too few.
    [[nodiscard]] std::string time_to_go() const;

    Progress& progress_;
    /// "cuda:1 ", or empty where there is one device.
    std::string prefix_;
    std::string problem_;
    std::size_t index_ = 0;
    std::size_t of_ = 0;
    std::size_t configs_ = 0;
    std::size_t done_ = 0;
    std::size_t known_ = 0;
    std::size_t failed_ = 0;
    std::optional<Trial> best_;
  };

  void line(const std::string& text);
  /// When it is time to, or `now`: all lanes on a terminal, else the one that has something new.
  void show_state(const Lane& lane, bool now);
  [[nodiscard]] double seconds() const;

  Console& console_;
  bool quiet_;
  bool live_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double last_shown_ = 0;
  std::size_t made_ = 0;
  std::map<TrialStatus, std::size_t> told_;
  std::mutex mutex_;
  Lane lane_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace tilewright::cli
