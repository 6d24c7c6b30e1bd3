// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cache/base/units.hpp"
#include "tuner/app/tuning.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/report/render.hpp"

namespace tilewright::cli {
namespace {

// A terminal is redrawn ten times a second, a log gets a line every five seconds.
constexpr std::chrono::milliseconds kLivePeriod{100};
constexpr std::chrono::milliseconds kLogPeriod{5000};
constexpr std::chrono::milliseconds kPlanPeriod{200};
// Failures of one kind that are printed one by one.
constexpr std::size_t kFailuresTold = 5;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The readings of the trial, else those of its measurement.
DeviceReadings readings_of(const Trial& trial) {
  if (!trial.timing || trial.readings.sm_clock_mhz || trial.readings.temperature_c) return trial.readings;
  return trial.timing->readings;
}

}  // namespace

Progress::Progress(Console& console, bool quiet)
    : console_(console),
      quiet_(quiet),
      live_(!quiet && console.live_possible()),
      json_(!quiet && console.logs_json()),
      lane_(*this, "") {
  if (!quiet_) shower_ = std::jthread([this](const std::stop_token& stop) { keep_showing(stop); });
}

Progress::~Progress() {
  if (shower_.joinable()) {
    shower_.request_stop();
    shower_.join();
  }
  clear();
}

void Progress::keep_showing(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, stop, live_ ? kLivePeriod : kLogPeriod, [&] { return stop.stop_requested(); })) show();
}

void Progress::show() {
  if (state_.problems == 0) return;
  state_.seconds = seconds();
  if (live_) return console_.show_live(block_lines(state_, console_.live_width()));
  if (json_) {
    nlohmann::ordered_json told = event("state", "");
    told["problems"] = state_.problems;
    told["finished"] = state_.finished;
    told["tried"] = state_.tried;
    told["compiling"] = state_.compiling;
    told["failures"] = nlohmann::ordered_json::object();
    for (const auto& [status, number] : state_.failures) told["failures"][std::string(name(status))] = number;
    const auto left = seconds_to_go(state_);
    told["seconds_to_go"] = left ? nlohmann::ordered_json(*left) : nlohmann::ordered_json();
    return console_.log(told);
  }
  for (const LaneState& lane : state_.lanes) {
    if (!lane.problems.empty()) line(log_line(state_, lane));
  }
}

SweepListener& Progress::on(const std::string& device) {
  const std::lock_guard lock(mutex_);
  for (const auto& lane : lanes_) {
    if (lane->device() == device) return *lane;
  }
  return *lanes_.emplace_back(std::make_unique<Lane>(*this, device));
}

void Progress::problem_started(const Problem& problem, std::size_t index, std::size_t of, std::size_t configs,
                               std::size_t already_measured) {
  lane_.problem_started(problem, index, of, configs, already_measured);
}

void Progress::trial_done(const Problem& problem, const Trial& trial, bool is_best_so_far) {
  lane_.trial_done(problem, trial, is_best_so_far);
}

void Progress::compiling(std::size_t unfinished) {
  const std::lock_guard lock(mutex_);
  state_.compiling = unfinished;
}

void Progress::problem_done(const Problem& problem, const std::vector<Winner>& winners) {
  lane_.problem_done(problem, winners);
}

void Progress::note(const std::string& text) { lane_.note(text); }

void Progress::tell(const std::string& line) {
  if (!quiet_) console_.say(line);
}

void Progress::warn(const std::string& line) { console_.say(line); }

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  state_ = {};
  seen_.clear();
  console_.clear_live();
}

void Progress::sweep_done(const SweepSummary& summary, const std::filesystem::path& cache) {
  clear();
  tell(app::summary_text(summary, cache.string()));
  for (const std::string& failure : summary.base_failures) warn(failure);
  for (const auto& [status, number] : summary.failures) failures_[status] += number;
  if (quiet_ || !json_) return;
  nlohmann::ordered_json told = event("sweep_done", "");
  for (const auto& [name, cell] : app::summary_figures(summary)) told[name] = json_of(cell);
  if (!cache.empty()) told["cache"] = cache.string();
  console_.log(told);
}

bool Progress::conclude(const std::set<TrialStatus>& fail_on) {
  std::map<TrialStatus, std::size_t> faults = failures_;
  std::erase_if(faults, [](const auto& each) {
    return each.first == TrialStatus::compile_failed || each.first == TrialStatus::exceeds_limits;
  });
  if (!faults.empty()) warn(fmt::format("Configs that went wrong, and are not served: {}", failures_text(faults)));
  return std::ranges::any_of(failures_, [&](const auto& each) { return fail_on.contains(each.first); });
}

void Progress::planned(std::size_t done, std::size_t of) {
  if (done == of) return console_.clear_live();
  const auto now = std::chrono::steady_clock::now();
  const bool is_live = console_.live_possible();
  if (now - planned_at_ < (is_live ? kPlanPeriod : kLogPeriod)) return;
  planned_at_ = now;
  const std::string line = fmt::format("planned {} of {}", done, counted(of, "problem"));
  is_live ? console_.show_live({line}) : console_.say(line);
}

bool Progress::cancelled() const { return interrupted(); }

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

nlohmann::ordered_json Progress::event(const char* kind, const std::string& device) const {
  nlohmann::ordered_json event{{"event", kind}, {"seconds", seconds()}};
  if (!device.empty()) event["device"] = device;
  return event;
}

void Progress::line(const std::string& text) {
  if (!quiet_ && !json_) console_.say(fmt::format("[{:>7.1f} s] {}", seconds(), text));
}

LaneState& Progress::Lane::state() {
  std::list<LaneState>& lanes = progress_.state_.lanes;
  const auto found = std::find_if(lanes.begin(), lanes.end(), [&](const auto& lane) { return lane.device == device_; });
  return found != lanes.end() ? *found : lanes.emplace_back(LaneState{device_, {}, {}});
}

ProblemState& Progress::Lane::problem_of(const std::string& key) {
  std::list<ProblemState>& problems = state().problems;
  const auto found = std::find_if(problems.begin(), problems.end(), [&](const auto& each) { return each.key == key; });
  if (found == problems.end()) {
    problems.emplace_front().key = key;
  } else {
    problems.splice(problems.begin(), problems, found);
  }
  return problems.front();
}

void Progress::Lane::problem_started(const Problem& problem, std::size_t index, std::size_t of, std::size_t configs,
                                     std::size_t already_measured) {
  const std::lock_guard lock(progress_.mutex_);
  SweepState& sweep = progress_.state_;
  ProblemState& mine = problem_of(problem.key());
  mine = {mine.key, index + 1, configs, already_measured, already_measured, 0, std::nullopt, 0, 0};
  sweep.problems = std::max(sweep.problems, of);
  // A problem that moves to another device, or that devices of several models have, counts once.
  if (progress_.seen_.insert(mine.key).second) ++sweep.begun;
  if (progress_.json_) {
    nlohmann::ordered_json told = progress_.event("problem_started", device_);
    told.update({{"problem", mine.key}, {"index", index + 1}, {"of", of}, {"configs", configs}, {"known", mine.known}});
    return progress_.console_.log(told);
  }
  if (progress_.live_) return;
  progress_.line(fmt::format("{}{}/{} {}: {}, {} known", prefix(), index + 1, of, mine.key, counted(configs, "config"),
                             mine.known));
}

void Progress::Lane::trial_done(const Problem& problem, const Trial& trial, bool is_best_so_far) {
  const std::lock_guard lock(progress_.mutex_);
  ProblemState& mine = problem_of(problem.key());
  ++mine.done;
  ++progress_.state_.tried;
  const DeviceReadings readings = readings_of(trial);
  if (readings.sm_clock_mhz || readings.temperature_c) state().readings = readings;
  if (is_best_so_far && trial.timing) {
    mine.before_ns = mine.best ? mine.best->timing->median_ns : 0;
    mine.best = trial;
    mine.best_at = mine.done;
  }
  if (is_failure(trial.status)) {
    ++mine.failed;
    ++progress_.state_.failures[trial.status];
  }
  if (progress_.json_) {
    nlohmann::ordered_json told = progress_.event("trial", device_);
    told.update({{"problem", mine.key}, {"config", trial.config.text()}, {"status", name(trial.status)}});
    if (!trial.reason.empty()) told["reason"] = trial.reason;
    if (trial.timing) told["median_ns"] = trial.timing->median_ns;
    told["best"] = is_best_so_far;
    if (readings.sm_clock_mhz) told["sm_clock_mhz"] = *readings.sm_clock_mhz;
    if (readings.temperature_c) told["temperature_c"] = *readings.temperature_c;
    if (readings.power_mw) told["power_mw"] = *readings.power_mw;
    return progress_.console_.log(told);
  }
  if (is_failure(trial.status)) tell_failure(problem, trial);
}

void Progress::Lane::tell_failure(const Problem& problem, const Trial& trial) {
  // A config that exceeds the device's limits needs no action.
  if (trial.status == TrialStatus::exceeds_limits) return;
  const std::size_t told = ++progress_.told_[trial.status];
  if (told <= kFailuresTold) {
    progress_.line(fmt::format("{}{}: {} on {}: {}", prefix(), name(trial.status), trial.config.text(), problem.key(),
                               first_line(trial.reason)));
  } else if (told == kFailuresTold + 1) {
    progress_.line(fmt::format("{}: more of these are stored and not printed", name(trial.status)));
  }
}

void Progress::Lane::problem_done(const Problem& problem, const std::vector<Winner>& winners) {
  const std::lock_guard lock(progress_.mutex_);
  const ProblemState mine = problem_of(problem.key());
  state().problems.pop_front();
  ++progress_.state_.finished;
  if (progress_.json_) {
    nlohmann::ordered_json told = progress_.event("problem_done", device_);
    told.update({{"problem", mine.key}, {"configs", mine.configs}, {"failed", mine.failed}});
    told["winner"] =
        winners.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(winners.front().trial.config.text());
    if (!winners.empty() && winners.front().trial.timing) told["median_ns"] = winners.front().trial.timing->median_ns;
    return progress_.console_.log(told);
  }
  const std::string head = fmt::format("{}{}/{} {}", prefix(), mine.index, progress_.state_.problems, mine.key);
  if (mine.configs == 0) return progress_.line(head + ": no config can serve it");
  if (winners.empty()) {
    return progress_.line(fmt::format("{}: no winner, {} of {} configs failed", head, mine.failed, mine.configs));
  }
  if (mine.done == mine.known) return;
  const Trial& best = winners.front().trial;
  progress_.line(
      fmt::format("{}: {} {}", head, show_time(best.timing ? best.timing->median_ns : 0), best.config.text()));
}

void Progress::Lane::note(const std::string& text) {
  const std::lock_guard lock(progress_.mutex_);
  if (progress_.json_) {
    nlohmann::ordered_json told = progress_.event("note", device_);
    told["text"] = text;
    return progress_.console_.log(told);
  }
  progress_.line(prefix() + text);
}

}  // namespace tilewright::cli
