// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/device_runner.hpp"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cache/model/not_reached.hpp"
#include "tuner/search/strategy.hpp"
#include "tuner/sweep/device_lock.hpp"
#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/limits.hpp"

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

// How often an idle device checks whether another one has returned an item.
constexpr std::chrono::milliseconds kRunnerPoll{20};
// The most items in flight, and the share of the device's memory that one call of each may touch together. A problem's
// inputs, results, reference and input sets take several times that. Larger problems run one after the other.
constexpr std::size_t kMostActive = 8;
constexpr std::int64_t kShareOfMemory = 64;
// The emulator does not report the host's memory.
constexpr std::int64_t kEmulatorMemory = std::int64_t{1} << 30;

}  // namespace

void DeviceRunner::work() {
  std::optional<DeviceLock> lock;
  if (context_.request.locks) {
    const SweepLock::Released released(context_.lock);
    // Stops waiting if other devices have finished everything.
    const auto give_up = [this] {
      const SweepLock::Held held(context_.lock);
      return stopped() || group_.over();
    };
    const auto note = [this](const std::string& line) {
      plain_.leave();
      const SweepLock::Held held(context_.lock);
      listener_.note(line);
    };
    lock.emplace(device_.gpu_uuid(), *context_.request.locks, give_up, note);
  }
  if (!context_.start) context_.start = Clock::now();
  run_items();
  // Other devices may continue for long, and another tuner may use this one.
  if (lock && !alone_) plain_.leave();
}

void DeviceRunner::run_items() {
  try {
    while (!stopped() && !(active_.empty() && group_.over())) advance_any();
  } catch (const DeviceLost&) {
    lose();
    throw;
  } catch (...) {
    close();
    throw;
  }
  close();
  if (context_.stopped()) context_.summary.interrupted = true;
}

void DeviceRunner::advance_any() {
  std::vector<std::pair<DeviceGroup::WorkItem, std::size_t>> in_flight;
  for (const ActiveItem& active : active_) in_flight.emplace_back(active.item, active.at);
  group_.compile_ahead(in_flight);
  listener_.compiling(context_.builder.unfinished());
  for (ActiveItem& active : active_) {
    if (advance(active, &active == &active_.front())) return;
  }
  if (open_another()) return;
  if (active_.empty()) {
    const SweepLock::Released released(context_.lock);
    std::this_thread::sleep_for(kRunnerPoll);
    return;
  }
  // The first item has a config to measure; otherwise it would be finished.
  ProblemRun& run = *group_.step(active_.front().at).run;
  if (const auto look = run.next()) run.wait_for(*look);
}

bool DeviceRunner::advance(ActiveItem& active, bool first) {
  Step& step = group_.step(active.at);
  current_ = &active;
  try {
    if (!active.begun) {
      group_.prepare(step);
      if (step.run) begin(step);
      active.begun = true;
    }
    if (step.run && !active.searched) {
      if (const auto look = step.run->next()) {
        if (!step.run->ready(*look)) return false;
        measure(step, *look);
        return true;
      }
      active.searched = true;
    }
    if (!first) return false;
    if (!stopped()) finish(step);
  } catch (const DeviceLost&) {
    throw;
  } catch (const DeviceError& error) {
    skip(step, error);
  }
  if (stopped()) return true;
  if (step.run && step.run->must_widen()) {
    // Restarts, with the former leaders' new times.
    step.run.reset();
    active.begun = active.searched = false;
  } else {
    end_step(active);
  }
  return true;
}

bool DeviceRunner::open_another() {
  std::optional<DeviceGroup::WorkItem> item;
  if (active_.empty()) {
    item = group_.take(device_.gpu_uuid());
  } else if (active_.size() < kMostActive) {
    item = group_.take_beside(device_.gpu_uuid(), active_.size(), [this](Step& step) { return suits(step); });
  }
  if (!item) return false;
  active_.push_back({*item, item->first});
  return true;
}

bool DeviceRunner::suits(Step& step) const {
  // A local search or a model depends on the results of earlier problems.
  if (is_tuned(step) && follows_neighbours(context_.request.strategy)) return false;
  std::int64_t bytes = step.run->definition().bytes_of(step.problem);
  for (const ActiveItem& active : active_) {
    const Step& other = group_.step(active.at);
    if (other.run) bytes += other.run->definition().bytes_of(other.problem);
  }
  const std::int64_t memory = device_.facts().is_cpu() ? kEmulatorMemory : device_.facts().memory_bytes;
  if (bytes > memory / kShareOfMemory) return false;
  const auto look = step.run->next();
  return look && step.run->ready(*look);
}

bool DeviceRunner::advance_others() {
  const ActiveItem* const before = current_;
  bool busy = false;
  for (auto next = std::next(active_.begin()); next != active_.end() && !busy && !stopped();) {
    // Advancing may remove the item.
    ActiveItem& active = *next++;
    busy = advance(active, false);
  }
  busy = busy || (!stopped() && open_another());
  current_ = before;
  return busy;
}

void DeviceRunner::end_step(ActiveItem& active) {
  group_.step(active.at).run.reset();
  active.begun = active.searched = false;
  if (++active.at < active.item.end) return;
  group_.done();
  std::erase_if(active_, [&](const ActiveItem& each) { return &each == &active; });
}

void DeviceRunner::lose() {
  // In reverse, so that the first item is taken first again.
  for (auto active = active_.rbegin(); active != active_.rend(); ++active) {
    Step& step = group_.step(active->at);
    step.run.reset();
    if (!group_.give_back(active->item, active->at, &*active == current_)) {
      listener_.note(fmt::format("{} is left out: two devices were lost while tuning it", step.problem.key()));
    }
  }
  active_.clear();
  group_.leave(device_.gpu_uuid());
}

void DeviceRunner::close() {
  for (const ActiveItem& active : active_) {
    group_.step(active.at).run.reset();
    group_.done();
  }
  active_.clear();
}

void DeviceRunner::begin(Step& step) {
  if (!is_tuned(step)) return step.run->begin(device_, Clock::time_point::max());
  const bool again = step.ordinal.has_value();
  step.run->begin(device_, group_.begin(step));
  step.had_work = step.had_work || step.run->has_work();
  listener_.problem_started(step.problem, *step.ordinal, group_.problems(), step.run->candidates() - step.run->pruned(),
                            step.run->known_before());
  if (!again) context_.summary.reused += step.run->known_before();
}

void DeviceRunner::measure(Step& step, const Look& look) {
  SweepSummary& summary = context_.summary;
  const std::size_t tried = step.run->tried();
  const auto start = Clock::now();
  const auto trial = step.run->measure(look);
  summary.measure_seconds += Clock::now() - start;
  if (!trial) {
    summary.interrupted = true;
    return;
  }
  if (is_tuned(step) && trial->status == TrialStatus::pruned) {
    listener_.trial_done(step.problem, *trial, false);
    return;
  }
  // Longer looks at the same config are not reported.
  if (!is_tuned(step) || step.run->tried() == tried) return;
  const bool is_new = trial->sweep == group_.sweep();
  ++(is_new ? summary.measured : summary.reused);
  if (is_new && is_failure(trial->status)) ++summary.failed;
  listener_.trial_done(step.problem, *trial, step.run->is_best_so_far(*trial));
}

void DeviceRunner::finish(Step& step) {
  switch (step.goal) {
    case Step::Goal::winners:
      return finish_problem(step);
    case Step::Goal::ceiling:
      return finish_ceiling(step);
    case Step::Goal::rate:
      return finish_rate(step);
  }
}

void DeviceRunner::finish_problem(Step& step) {
  SweepSummary& summary = context_.summary;
  const auto winners = step.run->finish([this] { return advance_others(); });
  if (!winners) {
    summary.interrupted = true;
    return;
  }
  if (step.run->must_widen()) {
    step.widened = true;
    return;
  }
  ++summary.problems;
  summary.forbidden += step.run->forbidden();
  summary.unconsidered += step.run->unconsidered();
  summary.pruned += step.run->pruned();
  if (winners->empty()) ++summary.without_winner;
  if (step.run->is_outlasted() || (!winners->empty() && configs_not_reached(winners->front()) > 0)) {
    ++summary.cut_short;
  }
  if (step.run->candidates() == 0) {
    const std::set<std::string>* const named = named_configs(group_.setting_of(step), step.problem);
    summary.refusals.push_back(named == nullptr ? refusals(*step.definition, step.problem, device_.facts())
                                                : refusals(*step.definition, *named, step.problem, device_.facts()));
  }
  for (const std::optional<Trial>& trial : step.run->trials()) {
    if (!trial || !is_failure(trial->status) || may_pass(*trial)) continue;
    ++summary.failures[trial->status];
    if (trial->config == step.definition->base) summary.base_failures.push_back(base_failure(step.problem, *trial));
  }
  listener_.problem_done(step.problem, *winners);
}

void DeviceRunner::finish_ceiling(Step& step) {
  if (step.skipped || (step.definition == nullptr && !group_.needs_ceiling(step))) return;
  Ceiling ceiling;
  ceiling.bytes = step.bytes;
  ceiling.reads = step.reads;
  ceiling.mode = context_.request.mode;
  ceiling.gpu_uuid = device_.gpu_uuid();
  if (step.run) {
    const auto winners = step.run->finish([this] { return advance_others(); });
    if (winners && !winners->empty()) {
      if (const auto timing = step.run->time_again(winners->front())) ceiling.copy_op_ns = timing->median_ns;
    }
    step.run->release();
  }
  if (step.reads == 1) {
    ceiling.memcpy_ns =
        device_.memcpy_ns(ceiling.bytes, context_.request.mode, group_.setting_of(step).stop, context_.stopped);
  }
  if (context_.stopped() || ceiling.best_ns() <= 0) return;
  context_.store.put_ceiling(group_.fingerprint(), ceiling);
  ++context_.summary.ceilings;
}

void DeviceRunner::finish_rate(Step& step) {
  const auto winners = step.run->finish([this] { return advance_others(); });
  if (!winners || winners->empty() || context_.stopped()) return;
  const Trial& best = winners->front().trial;
  if (!best.timing || best.timing->median_ns <= 0) return;
  ComputeRate rate;
  rate.flops_per_second = static_cast<double>(step.definition->flops_of(step.problem)) / best.timing->median_ns * 1e9;
  rate.config = best.config.text();
  rate.gpu_uuid = device_.gpu_uuid();
  rate.unit = step.unit;
  context_.store.put_compute_rate(group_.fingerprint(), rate);
}

void DeviceRunner::skip(const Step& step, const DeviceError& error) {
  if (!device_.answers()) {
    throw DeviceLost(
        fmt::format("{} no longer answers: {}\nWhat was measured is stored: run the same command once more, "
                    "and it goes on from there",
                    device_.name(), error.what()));
  }
  const std::string what = step.goal == Step::Goal::ceiling ? "the copy ceiling" : step.problem.key();
  listener_.note(fmt::format("{} is left out: {}", what, error.what()));
  if (is_tuned(step)) ++context_.summary.without_winner;
}

}  // namespace tilewright
