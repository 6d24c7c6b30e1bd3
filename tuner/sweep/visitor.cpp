// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/visitor.hpp"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tuner/search/strategy.hpp"
#include "tuner/sweep/device_lock.hpp"
#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/limits.hpp"

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

// How often a device that has nothing to do asks whether another one has left it something.
constexpr std::chrono::milliseconds kPoll{20};
// Errands under way at once, and how much of the device's memory one call of each may touch together: inputs, results,
// reference and input sets of a problem are several times that. The larger ones go one after the other.
constexpr std::size_t kMostLanes = 8;
constexpr std::int64_t kShareOfMemory = 64;
// Of the emulator, which says nothing of the host's.
constexpr std::int64_t kEmulatorMemory = std::int64_t{1} << 30;

}  // namespace

void Visitor::work() {
  std::optional<DeviceLock> lock;
  if (!journey_.request.locks.empty()) {
    const Turn::Away away(journey_.turn);
    // Not longer than there is something to do: others may have done it all.
    const auto give_up = [this] {
      const Turn::Mine mine(journey_.turn);
      return stopped() || party_.over();
    };
    const auto note = [this](const std::string& line) {
      plain_.leave();
      const Turn::Mine mine(journey_.turn);
      listener_.note(line);
    };
    lock.emplace(workplace_.gpu_uuid(), journey_.request.locks, give_up, note);
  }
  if (!journey_.start) journey_.start = Clock::now();
  carry_out();
  // Other devices may go on for long, and another tuner have this one.
  if (lock && !alone_) plain_.leave();
}

void Visitor::carry_out() {
  try {
    while (!stopped() && !(lanes_.empty() && party_.over())) go_on();
  } catch (const DeviceLost&) {
    lose();
    throw;
  } catch (...) {
    close();
    throw;
  }
  close();
  if (journey_.stopped()) journey_.summary.interrupted = true;
}

void Visitor::go_on() {
  std::vector<std::pair<Party::Errand, std::size_t>> under_way;
  for (const Lane& lane : lanes_) under_way.emplace_back(lane.errand, lane.at);
  party_.compile_ahead(under_way);
  listener_.compiling(journey_.builder.unfinished());
  for (Lane& lane : lanes_) {
    if (advance(lane, &lane == &lanes_.front())) return;
  }
  if (open_another()) return;
  if (lanes_.empty()) {
    const Turn::Away away(journey_.turn);
    std::this_thread::sleep_for(kPoll);
    return;
  }
  // The first one has a look to make, or it would have been finished.
  ProblemRun& run = *party_.stop(lanes_.front().at).run;
  if (const auto look = run.next()) run.wait_for(*look);
}

bool Visitor::advance(Lane& lane, bool first) {
  Stop& stop = party_.stop(lane.at);
  in_hand_ = &lane;
  try {
    if (!lane.begun) {
      party_.prepare(stop);
      if (stop.run) begin(stop);
      lane.begun = true;
    }
    if (stop.run && !lane.looked) {
      if (const auto look = stop.run->next()) {
        if (!stop.run->ready(*look)) return false;
        measure(stop, *look);
        return true;
      }
      lane.looked = true;
    }
    if (!first) return false;
    if (!stopped()) finish(stop);
  } catch (const DeviceLost&) {
    throw;
  } catch (const DeviceError& error) {
    skip(stop, error);
  }
  if (stopped()) return true;
  if (stop.run && stop.run->must_widen()) {
    // Anew, with what is known of those that led.
    stop.run.reset();
    lane.begun = lane.looked = false;
  } else {
    end_stop(lane);
  }
  return true;
}

bool Visitor::open_another() {
  std::optional<Party::Errand> errand;
  if (lanes_.empty()) {
    errand = party_.take(workplace_.gpu_uuid());
  } else if (lanes_.size() < kMostLanes) {
    errand = party_.take_beside(workplace_.gpu_uuid(), lanes_.size(), [this](Stop& stop) { return suits(stop); });
  }
  if (!errand) return false;
  lanes_.push_back({*errand, errand->first});
  return true;
}

bool Visitor::suits(Stop& stop) const {
  // What a walk or a model looks at depends on how the problems before it came out.
  if (is_tuned(stop) && follows_neighbours(journey_.request.strategy)) return false;
  std::int64_t bytes = stop.run->definition().bytes_of(stop.problem);
  for (const Lane& lane : lanes_) {
    const Stop& other = party_.stop(lane.at);
    if (other.run) bytes += other.run->definition().bytes_of(other.problem);
  }
  const std::int64_t memory = workplace_.facts().is_cpu() ? kEmulatorMemory : workplace_.facts().memory_bytes;
  if (bytes > memory / kShareOfMemory) return false;
  const auto look = stop.run->next();
  return look && stop.run->ready(*look);
}

bool Visitor::meanwhile() {
  const Lane* const before = in_hand_;
  bool busy = false;
  for (auto next = std::next(lanes_.begin()); next != lanes_.end() && !busy && !stopped();) {
    // One that is done, or left out, is there no more when it has been advanced.
    Lane& lane = *next++;
    busy = advance(lane, false);
  }
  busy = busy || (!stopped() && open_another());
  in_hand_ = before;
  return busy;
}

void Visitor::end_stop(Lane& lane) {
  party_.stop(lane.at).run.reset();
  lane.begun = lane.looked = false;
  if (++lane.at < lane.errand.end) return;
  party_.done();
  std::erase_if(lanes_, [&](const Lane& each) { return &each == &lane; });
}

void Visitor::lose() {
  // The first one is handed out first again.
  for (auto lane = lanes_.rbegin(); lane != lanes_.rend(); ++lane) {
    Stop& stop = party_.stop(lane->at);
    stop.run.reset();
    if (!party_.give_back(lane->errand, lane->at, &*lane == in_hand_)) {
      listener_.note(fmt::format("{} is left out: two devices were lost over it", stop.problem.key()));
    }
  }
  lanes_.clear();
  party_.leave(workplace_.gpu_uuid());
}

void Visitor::close() {
  for (const Lane& lane : lanes_) {
    party_.stop(lane.at).run.reset();
    party_.done();
  }
  lanes_.clear();
}

void Visitor::begin(Stop& stop) {
  if (!is_tuned(stop)) return stop.run->begin(workplace_, Clock::time_point::max());
  const bool again = stop.ordinal.has_value();
  stop.run->begin(workplace_, party_.begin(stop));
  stop.had_work = stop.had_work || stop.run->has_work();
  listener_.problem_started(stop.problem, *stop.ordinal, party_.problems(), stop.run->candidates() - stop.run->pruned(),
                            stop.run->known_before());
  if (!again) journey_.summary.reused += stop.run->known_before();
}

void Visitor::measure(Stop& stop, const Look& look) {
  SweepSummary& summary = journey_.summary;
  const std::size_t tried = stop.run->tried();
  const auto start = Clock::now();
  const auto trial = stop.run->measure(look);
  summary.measure_seconds += Clock::now() - start;
  if (!trial) {
    summary.interrupted = true;
    return;
  }
  if (is_tuned(stop) && trial->status == TrialStatus::pruned) {
    listener_.trial_done(stop.problem, *trial, false);
    return;
  }
  // Longer looks at the same config are not told of.
  if (!is_tuned(stop) || stop.run->tried() == tried) return;
  const bool is_new = trial->sweep == party_.sweep();
  ++(is_new ? summary.measured : summary.reused);
  if (is_new && is_failure(trial->status)) ++summary.failed;
  listener_.trial_done(stop.problem, *trial, stop.run->is_best_so_far(*trial));
}

void Visitor::finish(Stop& stop) {
  switch (stop.goal) {
    case Stop::Goal::winners:
      return finish_problem(stop);
    case Stop::Goal::ceiling:
      return finish_ceiling(stop);
    case Stop::Goal::rate:
      return finish_rate(stop);
  }
}

void Visitor::finish_problem(Stop& stop) {
  SweepSummary& summary = journey_.summary;
  const auto winners = stop.run->finish([this] { return meanwhile(); });
  if (!winners) {
    summary.interrupted = true;
    return;
  }
  if (stop.run->must_widen()) {
    stop.widened = true;
    return;
  }
  ++summary.problems;
  summary.forbidden += stop.run->forbidden();
  summary.pruned += stop.run->pruned();
  if (winners->empty()) ++summary.without_winner;
  if (stop.run->candidates() == 0) {
    summary.refusals.push_back(refusals(*stop.definition, stop.problem, workplace_.facts()));
  }
  listener_.problem_done(stop.problem, *winners);
}

void Visitor::finish_ceiling(Stop& stop) {
  if (stop.skipped || (stop.definition == nullptr && !party_.needs_ceiling(stop))) return;
  Ceiling ceiling;
  ceiling.bytes = stop.bytes;
  ceiling.reads = stop.reads;
  ceiling.mode = journey_.request.mode;
  ceiling.gpu_uuid = workplace_.gpu_uuid();
  if (stop.run) {
    const auto winners = stop.run->finish([this] { return meanwhile(); });
    if (winners && !winners->empty()) {
      if (const auto timing = stop.run->time_again(winners->front())) ceiling.copy_op_ns = timing->median_ns;
    }
    stop.run->release();
  }
  if (stop.reads == 1) {
    ceiling.memcpy_ns =
        workplace_.memcpy_ns(ceiling.bytes, journey_.request.mode, party_.setting_of(stop).stop, journey_.stopped);
  }
  if (journey_.stopped() || ceiling.best_ns() <= 0) return;
  journey_.store.put_ceiling(party_.fingerprint(), ceiling);
  ++journey_.summary.ceilings;
}

void Visitor::finish_rate(Stop& stop) {
  const auto winners = stop.run->finish([this] { return meanwhile(); });
  if (!winners || winners->empty() || journey_.stopped()) return;
  const Trial& best = winners->front().trial;
  if (!best.timing || best.timing->median_ns <= 0) return;
  ComputeRate rate;
  rate.flops_per_second = static_cast<double>(stop.definition->flops_of(stop.problem)) / best.timing->median_ns * 1e9;
  rate.config = best.config.text();
  rate.gpu_uuid = workplace_.gpu_uuid();
  rate.unit = stop.unit;
  journey_.store.put_compute_rate(party_.fingerprint(), rate);
}

void Visitor::skip(const Stop& stop, const DeviceError& error) {
  if (!workplace_.answers()) {
    throw DeviceLost(
        fmt::format("{} answers no more: {}\nWhat was measured is stored: run the same command once more, "
                    "and it goes on from there",
                    workplace_.name(), error.what()));
  }
  const std::string what = stop.goal == Stop::Goal::ceiling ? "the copy ceiling" : stop.problem.key();
  listener_.note(fmt::format("{} is left out: {}", what, error.what()));
  if (is_tuned(stop)) ++journey_.summary.without_winner;
}

}  // namespace tilewright
