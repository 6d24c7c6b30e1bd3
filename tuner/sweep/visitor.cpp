// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/visitor.hpp"

#include <fmt/format.h>

#include <optional>
#include <thread>

#include "tuner/sweep/device_lock.hpp"
#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/limits.hpp"

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

// How often a device that has nothing to do asks whether another one has left it something.
constexpr std::chrono::milliseconds kPoll{20};

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
  while (!stopped() && !party_.over()) {
    if (const auto errand = party_.take(workplace_.gpu_uuid())) {
      carry_out(*errand);
    } else {
      const Turn::Away away(journey_.turn);
      std::this_thread::sleep_for(kPoll);
    }
  }
  // Other devices may go on for long, and another tuner have this one.
  if (lock && workplaces_ > 1) plain_.leave();
}

void Visitor::carry_out(const Party::Errand& errand) {
  std::size_t at = errand.first;
  try {
    for (; at < errand.end && !stopped(); ++at) visit(errand, at);
  } catch (const DeviceLost&) {
    if (!party_.give_back(errand, at, workplace_.gpu_uuid())) {
      listener_.note(fmt::format("{} is left out: two devices were lost over it", party_.stop(at).problem.key()));
    }
    throw;
  }
  party_.done();
}

void Visitor::begin(Stop& stop) {
  if (!is_tuned(stop)) return stop.run->begin(workplace_, Clock::time_point::max());
  const bool again = stop.ordinal.has_value();
  stop.run->begin(workplace_, party_.begin(stop));
  stop.had_work = stop.had_work || stop.run->has_work();
  listener_.problem_started(stop.problem, *stop.ordinal, party_.problems(), stop.run->candidates(),
                            stop.run->known_before());
  if (!again) journey_.summary.reused += stop.run->known_before();
}

void Visitor::visit(const Party::Errand& errand, std::size_t index) {
  // Whatever happens, the device's memory is freed while this device has the turn.
  struct Release {
    Stop& stop;
    ~Release() { stop.run.reset(); }
  };
  Stop& stop = party_.stop(index);
  const Release release{stop};
  try {
    party_.prepare(stop);
    if (stop.run) {
      begin(stop);
      measure_all(errand, index);
    }
    if (!journey_.summary.interrupted) finish(stop);
  } catch (const DeviceLost&) {
    throw;
  } catch (const DeviceError& error) {
    skip(stop, error);
  }
  if (journey_.stopped()) journey_.summary.interrupted = true;
}

void Visitor::measure_all(const Party::Errand& errand, std::size_t index) {
  Stop& stop = party_.stop(index);
  SweepSummary& summary = journey_.summary;
  for (party_.compile_ahead(errand, index); !stopped(); party_.compile_ahead(errand, index)) {
    const auto look = stop.run->next();
    if (!look) return;
    const std::size_t tried = stop.run->tried();
    const auto start = Clock::now();
    const auto trial = stop.run->measure(*look);
    summary.measure_seconds += Clock::now() - start;
    if (!trial) break;
    // Longer looks at the same config are not told of.
    if (!is_tuned(stop) || stop.run->tried() == tried) continue;
    const bool is_new = trial->sweep == party_.sweep();
    ++(is_new ? summary.measured : summary.reused);
    if (is_new && trial->status != TrialStatus::ok) ++summary.failed;
    listener_.trial_done(stop.problem, *trial, stop.run->is_best_so_far(*trial));
  }
  summary.interrupted = true;
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
  const auto winners = stop.run->finish();
  if (!winners) {
    summary.interrupted = true;
    return;
  }
  ++summary.problems;
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
    const auto winners = stop.run->finish();
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
  const auto winners = stop.run->finish();
  if (!winners || winners->empty() || journey_.stopped()) return;
  const Trial& best = winners->front().trial;
  if (!best.timing || best.timing->median_ns <= 0) return;
  ComputeRate rate;
  rate.flops_per_second = static_cast<double>(stop.definition->flops_of(stop.problem)) / best.timing->median_ns * 1e9;
  rate.config = best.config.text();
  rate.gpu_uuid = workplace_.gpu_uuid();
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
