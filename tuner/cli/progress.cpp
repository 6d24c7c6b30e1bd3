// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tuner/report/units.hpp"

namespace tilewright::cli {
namespace {

// A terminal is redrawn at most ten times a second, a log gets a line every five seconds.
constexpr double kLivePeriod = 0.1;
constexpr double kLogPeriod = 5;
// Failures of one kind that are told one by one.
constexpr std::size_t kFailuresTold = 5;
// Trials before a time to go is guessed.
constexpr std::size_t kTrialsBeforeGuess = 10;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Progress::Progress(Console& console, bool quiet)
    : console_(console), quiet_(quiet), live_(!quiet && console.live_possible()), lane_(*this, "") {}

SweepListener& Progress::on(const std::string& device) {
  const std::lock_guard lock(mutex_);
  return *lanes_.emplace_back(std::make_unique<Lane>(*this, device));
}

void Progress::problem_started(const Problem& problem, std::size_t index, std::size_t of, std::size_t configs,
                               std::size_t already_measured) {
  lane_.problem_started(problem, index, of, configs, already_measured);
}

void Progress::trial_done(const Problem& problem, const Trial& trial, bool is_best_so_far) {
  lane_.trial_done(problem, trial, is_best_so_far);
}

void Progress::problem_done(const Problem& problem, const std::vector<Winner>& winners) {
  lane_.problem_done(problem, winners);
}

void Progress::note(const std::string& text) { lane_.note(text); }

void Progress::end() {
  const std::lock_guard lock(mutex_);
  console_.clear_live();
}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::line(const std::string& text) {
  if (!quiet_) console_.say(fmt::format("[{:>7.1f} s] {}", seconds(), text));
}

void Progress::show_state(const Lane& lane, bool now) {
  if (quiet_) return;
  if (seconds() - last_shown_ < (live_ ? kLivePeriod : kLogPeriod) && !now) return;
  last_shown_ = seconds();
  if (!live_) return line(lane.state());
  std::string all;
  for (const auto& each : lanes_) {
    if (const std::string state = each->state(); !state.empty()) all += (all.empty() ? "" : " | ") + state;
  }
  console_.show_live(lanes_.empty() ? lane.state() : all);
}

Progress::Lane::Lane(Progress& progress, const std::string& device)
    : progress_(progress), prefix_(device.empty() ? "" : device + " ") {}

void Progress::Lane::problem_started(const Problem& problem, std::size_t index, std::size_t of, std::size_t configs,
                                     std::size_t already_measured) {
  const std::lock_guard lock(progress_.mutex_);
  problem_ = problem.key();
  index_ = index + 1;
  of_ = of;
  configs_ = configs;
  known_ = already_measured;
  done_ = already_measured;
  failed_ = 0;
  best_.reset();
  if (progress_.live_) {
    progress_.show_state(*this, true);
  } else {
    progress_.line(fmt::format("{}{}/{} {}: {} configs, {} known", prefix_, index_, of_, problem_, configs_, known_));
  }
}

std::string Progress::Lane::time_to_go() const {
  if (progress_.made_ < kTrialsBeforeGuess) return "";
  const double each = progress_.seconds() / static_cast<double>(progress_.made_);
  // Problems to come are taken to be like this one.
  const auto left = static_cast<double>((configs_ - std::min(done_, configs_)) + (of_ - index_) * (configs_ - known_));
  return fmt::format(", {} to go", show_duration(each * left));
}

std::string Progress::Lane::state() const {
  if (problem_.empty()) return "";
  std::string state = fmt::format("{}{}/{} {}: {}/{} configs", prefix_, index_, of_, problem_, done_, configs_);
  if (failed_ > 0) state += fmt::format(", {} failed", failed_);
  state += time_to_go();
  if (best_) state += fmt::format("; best {} {}", show_time(best_->timing->median_ns), best_->config.text());
  return state;
}

void Progress::Lane::trial_done(const Problem& problem, const Trial& trial, bool is_best_so_far) {
  const std::lock_guard lock(progress_.mutex_);
  ++done_;
  ++progress_.made_;
  if (is_best_so_far) best_ = trial;
  if (is_failure(trial.status)) {
    ++failed_;
    tell_failure(problem, trial);
  }
  progress_.show_state(*this, false);
}

void Progress::Lane::tell_failure(const Problem& problem, const Trial& trial) {
  // A config that the device has no room for is nothing to act on.
  if (trial.status == TrialStatus::exceeds_limits) return;
  const std::size_t told = ++progress_.told_[trial.status];
  if (told <= kFailuresTold) {
    progress_.line(fmt::format("{}{}: {} on {}: {}", prefix_, name(trial.status), trial.config.text(), problem.key(),
                               first_line(trial.reason)));
  } else if (told == kFailuresTold + 1) {
    progress_.line(fmt::format("{}: more of these are stored, and not told", name(trial.status)));
  }
}

void Progress::Lane::problem_done(const Problem& problem, const std::vector<Winner>& winners) {
  const std::lock_guard lock(progress_.mutex_);
  const std::string head = fmt::format("{}{}/{} {}", prefix_, index_, of_, problem.key());
  if (configs_ == 0) {
    progress_.line(head + ": no config can serve it");
    return;
  }
  if (winners.empty()) {
    progress_.line(fmt::format("{}: no winner, {} of {} configs failed", head, failed_, configs_));
    return;
  }
  const Trial& best = winners.front().trial;
  if (done_ == known_) return;
  progress_.line(
      fmt::format("{}: {} {}", head, show_time(best.timing ? best.timing->median_ns : 0), best.config.text()));
}

void Progress::Lane::note(const std::string& text) {
  const std::lock_guard lock(progress_.mutex_);
  progress_.line(prefix_ + text);
}

}  // namespace tilewright::cli
