// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tuner/sweep/device_group.hpp"
#include "tuner/sweep/device_runner.hpp"
#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/local_config_runner.hpp"

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

// How often devices that are being opened are checked.
constexpr std::chrono::milliseconds kPausePoll{20};

class SweepRun {
 public:
  SweepRun(const SweepRequest& request, Catalogue& catalogue, Devices& devices, Store& store, SweepListener& listener,
           const std::function<bool()>& interrupted)
      : interrupted_(interrupted),
        devices_(devices),
        context_(request, catalogue, store, listener, [this] { return broken_ || (interrupted_ && interrupted_()); }) {
    context_.builder.retry_failed(request.retry.count(TrialStatus::compile_failed) != 0);
  }

  SweepSummary run() {
    const auto start = Clock::now();
    work_all();
    if (failure_) std::rethrow_exception(failure_);
    if (lost_ && context_.summary.lost.size() == runners_.size()) std::rethrow_exception(lost_);
    SweepSummary& summary = context_.summary;
    for (const auto& [fingerprint, group] : groups_) {
      const std::size_t left = summary.interrupted ? 0 : group->problems_left();
      summary.left += left;
      group->set_outcome(summary.interrupted ? "interrupted" : summary.without_winner + left > 0 ? "partly" : "done");
    }
    summary.compiled = context_.builder.compiled();
    summary.compile_seconds = std::chrono::duration<double, std::milli>(context_.builder.compile_ms());
    summary.waited_seconds = context_.builder.waited();
    summary.wall_seconds = Clock::now() - start;
    return summary;
  }

 private:
  void work_all() {
    Devices::State now = devices_.state();
    if (now.open.empty()) throw std::invalid_argument("run_sweep: there is no device");
    alone_ = now.open.size() + now.awaited.size() == 1;
    add_devices(now);
    if (alone_) return work(*runners_.front());
    std::vector<std::jthread> threads;
    for (;;) {
      while (threads.size() < runners_.size()) {
        threads.emplace_back([this, runner = runners_[threads.size()].get()] { work(*runner); });
      }
      if (now.awaited.empty()) return;
      std::this_thread::sleep_for(kPausePoll);
      now = devices_.state();
      const SweepLock::Held held(context_.lock);
      if (needs_no_more(now)) return;
      try {
        add_devices(now);
      } catch (...) {  // NOLINT: carried to whoever called, once the others have ended
        break_off();
        return;
      }
    }
  }

  /// Makes a runner for each new device. Requires the sweep lock once another runner works.
  void add_devices(const Devices::State& now) {
    for (std::size_t i = runners_.size(); i < now.open.size(); ++i) {
      TrialDevice& device = *now.open[i];
      auto& group = groups_[device.facts().fingerprint()];
      if (!group) group = std::make_unique<DeviceGroup>(context_, device);
      group->join(device.gpu_uuid());
      const int number = ++names_[device.name()];
      SweepListener& told =
          alone_ ? context_.listener
                 : context_.listener.on(number == 1 ? device.name() : fmt::format("{} ({})", device.name(), number));
      runners_.push_back(std::make_unique<DeviceRunner>(context_, *group, device, told, alone_));
    }
    for (const Devices::Awaited& each : now.awaited) {
      const auto group = groups_.find(each.fingerprint);
      if (group != groups_.end()) group->second->expect(each.uuid);
    }
  }

  /// Whether no device that is being opened is needed.
  bool needs_no_more(const Devices::State& now) {
    if (context_.stopped()) return true;
    if (now.awaited.empty() && now.open.size() == runners_.size()) return true;
    const auto served = [this](const std::string& fingerprint) {
      const auto group = groups_.find(fingerprint);
      return group != groups_.end() && group->second->over();
    };
    const auto needless = [&](const Devices::Awaited& each) { return served(each.fingerprint); };
    for (std::size_t i = runners_.size(); i < now.open.size(); ++i) {
      if (!served(now.open[i]->facts().fingerprint())) return false;
    }
    if (!std::ranges::all_of(now.awaited, needless)) return false;
    for (const Devices::Awaited& each : now.awaited) {
      context_.listener.note(fmt::format("{} was still opening when its work was done", each.name));
    }
    return true;
  }

  void work(DeviceRunner& runner) {
    const SweepLock::Held held(context_.lock);
    try {
      runner.work();
    } catch (const DeviceLost& error) {
      lose(runner, error);
    } catch (...) {  // NOLINT: carried to whoever called
      break_off();
    }
  }

  /// Ends the sweep with the current exception.
  void break_off() {
    if (!failure_) failure_ = std::current_exception();
    broken_ = true;
  }

  /// Ends one device; the others continue.
  void lose(DeviceRunner& runner, const DeviceLost& error) {
    if (!lost_) lost_ = std::current_exception();
    const std::string text = error.what();
    context_.summary.lost.push_back(
        fmt::format("{} ({}) was lost: {}", runner.device().name(),
                    runner.device().gpu_uuid().empty() ? "the emulator" : runner.device().gpu_uuid(),
                    text.substr(0, text.find('\n'))));
    if (!alone_) context_.listener.note(context_.summary.lost.back());
  }

  const std::function<bool()>& interrupted_;
  Devices& devices_;
  std::atomic<bool> broken_ = false;
  /// One device and none to come: the caller's thread does all.
  bool alone_ = true;
  SweepContext context_;
  std::map<std::string, std::unique_ptr<DeviceGroup>> groups_;
  /// In the order in which the devices came.
  std::vector<std::unique_ptr<DeviceRunner>> runners_;
  std::map<std::string, int> names_;
  std::exception_ptr failure_;
  std::exception_ptr lost_;
};

}  // namespace

SweepSummary run_sweep(const SweepRequest& request, Catalogue& catalogue, Devices& devices, Store& store,
                       SweepListener& listener, const std::function<bool()>& interrupted) {
  if (request.compiler == nullptr) throw std::invalid_argument("run_sweep: there is no compiler");
  return SweepRun(request, catalogue, devices, store, listener, interrupted).run();
}

SweepSummary run_sweep(const SweepRequest& request, Catalogue& catalogue, std::span<TrialDevice* const> trial_devices,
                       Store& store, SweepListener& listener, const std::function<bool()>& interrupted) {
  OpenDevices devices(trial_devices);
  return run_sweep(request, catalogue, devices, store, listener, interrupted);
}

SweepSummary run_sweep(const SweepRequest& request, Catalogue& catalogue, TrialDevice& trial_device, Store& store,
                       SweepListener& listener, const std::function<bool()>& interrupted) {
  TrialDevice* const one = &trial_device;
  return run_sweep(request, catalogue, std::span<TrialDevice* const>(&one, 1), store, listener, interrupted);
}

SweepSummary run_sweep(SweepRequest request, Catalogue& catalogue, Device& device, Store& store,
                       SweepListener& listener, const std::function<bool()>& interrupted) {
  if (request.compiler == nullptr) request.compiler = &device.compiler();
  LocalTrialDevice trial_device(device);
  return run_sweep(request, catalogue, trial_device, store, listener, interrupted);
}

}  // namespace tilewright
