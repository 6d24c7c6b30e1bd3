// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/progress.hpp"

#include <fmt/format.h>

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
    : console_(console), quiet_(quiet), live_(!quiet && console.live_possible()) {}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::line(const std::string& text) {
  if (!quiet_) console_.say(fmt::format("[{:>7.1f} s] {}", seconds(), text));
}

void Progress::problem_started(const Problem& problem, std::size_t index, std::size_t of, std::size_t configs,
                               std::size_t already_measured) {
  problem_ = problem.key();
  index_ = index + 1;
  of_ = of;
  configs_ = configs;
  known_ = already_measured;
  done_ = already_measured;
  failed_ = 0;
  best_.reset();
  if (live_) {
    show_state();
  } else {
    line(fmt::format("{}/{} {}: {} configs, {} known", index_, of_, problem_, configs_, known_));
  }
}

std::string Progress::time_to_go() const {
  if (made_ < kTrialsBeforeGuess) return "";
  const double each = seconds() / static_cast<double>(made_);
  // Problems to come are taken to be like this one.
  const auto left = static_cast<double>((configs_ - std::min(done_, configs_)) + (of_ - index_) * (configs_ - known_));
  return fmt::format(", {} to go", show_duration(each * left));
}

void Progress::show_state() {
  const double now = seconds();
  if (now - last_shown_ < (live_ ? kLivePeriod : kLogPeriod) && done_ != known_) return;
  last_shown_ = now;
  std::string state = fmt::format("{}/{} {}: {}/{} configs", index_, of_, problem_, done_, configs_);
  if (failed_ > 0) state += fmt::format(", {} failed", failed_);
  state += time_to_go();
  if (best_) state += fmt::format("; best {} {}", show_time(best_->timing->median_ns), best_->config.text());
  live_ ? console_.show_live(state) : line(state);
}

void Progress::trial_done(const Problem& problem, const Trial& trial, bool is_best_so_far) {
  ++done_;
  ++made_;
  if (is_best_so_far) best_ = trial;
  if (trial.status != TrialStatus::ok) {
    ++failed_;
    tell_failure(problem, trial);
  }
  if (!quiet_) show_state();
}

void Progress::tell_failure(const Problem& problem, const Trial& trial) {
  // A config that the device has no room for is nothing to act on.
  if (trial.status == TrialStatus::exceeds_limits) return;
  const std::size_t told = ++told_[trial.status];
  if (told <= kFailuresTold) {
    line(fmt::format("{}: {} on {}: {}", name(trial.status), trial.config.text(), problem.key(),
                     first_line(trial.reason)));
  } else if (told == kFailuresTold + 1) {
    line(fmt::format("{}: more of these are stored, and not told", name(trial.status)));
  }
}

void Progress::problem_done(const Problem& problem, const std::vector<Winner>& winners) {
  if (configs_ == 0) {
    line(fmt::format("{}/{} {}: no config can serve it", index_, of_, problem.key()));
    return;
  }
  if (winners.empty()) {
    line(fmt::format("{}/{} {}: no winner, {} of {} configs failed", index_, of_, problem.key(), failed_, configs_));
    return;
  }
  const Trial& best = winners.front().trial;
  if (done_ == known_) return;
  line(fmt::format("{}/{} {}: {} {}", index_, of_, problem.key(), show_time(best.timing ? best.timing->median_ns : 0),
                   best.config.text()));
}

void Progress::note(const std::string& text) { line(text); }

}  // namespace tilewright::cli
