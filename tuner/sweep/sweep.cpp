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

#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/party.hpp"
#include "tuner/sweep/trial_runner.hpp"
#include "tuner/sweep/visitor.hpp"

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

// How often devices are asked for that are still being opened.
constexpr std::chrono::milliseconds kPoll{20};

class Walk {
 public:
  Walk(const SweepRequest& request, Catalogue& catalogue, Devices& devices, Store& store, SweepListener& listener,
       const std::function<bool()>& interrupted)
      : interrupted_(interrupted),
        devices_(devices),
        journey_(request, catalogue, store, listener, [this] { return broken_ || (interrupted_ && interrupted_()); }) {
    journey_.builder.retry_failed(request.retry.count(TrialStatus::compile_failed) != 0);
  }

  SweepSummary run() {
    const auto start = Clock::now();
    work_all();
    if (failure_) std::rethrow_exception(failure_);
    if (lost_ && journey_.summary.lost.size() == visitors_.size()) std::rethrow_exception(lost_);
    SweepSummary& summary = journey_.summary;
    for (const auto& [fingerprint, party] : parties_) {
      const std::size_t left = summary.interrupted ? 0 : party->problems_left();
      summary.left += left;
      party->set_outcome(summary.interrupted ? "interrupted" : summary.without_winner + left > 0 ? "partly" : "done");
    }
    summary.compiled = journey_.builder.compiled();
    summary.compile_seconds = std::chrono::duration<double, std::milli>(journey_.builder.compile_ms());
    summary.waited_seconds = journey_.builder.waited();
    summary.wall_seconds = Clock::now() - start;
    return summary;
  }

 private:
  void work_all() {
    Devices::Standing now = devices_.standing();
    if (now.open.empty()) throw std::invalid_argument("run_sweep: there is no device");
    alone_ = now.open.size() + now.awaited.size() == 1;
    welcome(now);
    if (alone_) return work(*visitors_.front());
    std::vector<std::jthread> threads;
    for (;;) {
      while (threads.size() < visitors_.size()) {
        threads.emplace_back([this, visitor = visitors_[threads.size()].get()] { work(*visitor); });
      }
      if (now.awaited.empty()) return;
      std::this_thread::sleep_for(kPoll);
      now = devices_.standing();
      const Turn::Mine mine(journey_.turn);
      if (is_over(now)) return;
      try {
        welcome(now);
      } catch (...) {  // NOLINT: carried to whoever called, once the others have ended
        break_off();
        return;
      }
    }
  }

  /// A visitor for each device that is new. With the turn, once there is anybody else.
  void welcome(const Devices::Standing& now) {
    for (std::size_t i = visitors_.size(); i < now.open.size(); ++i) {
      Workplace& device = *now.open[i];
      auto& party = parties_[device.facts().fingerprint()];
      if (!party) party = std::make_unique<Party>(journey_, device);
      party->join(device.gpu_uuid());
      const int number = ++names_[device.name()];
      SweepListener& told =
          alone_ ? journey_.listener
                 : journey_.listener.on(number == 1 ? device.name() : fmt::format("{} ({})", device.name(), number));
      visitors_.push_back(std::make_unique<Visitor>(journey_, *party, device, told, alone_));
    }
    for (const Devices::Awaited& each : now.awaited) {
      const auto party = parties_.find(each.fingerprint);
      if (party != parties_.end()) party->second->expect(each.uuid);
    }
  }

  /// Nobody needs to be waited for.
  bool is_over(const Devices::Standing& now) {
    if (journey_.stopped()) return true;
    if (now.awaited.empty() && now.open.size() == visitors_.size()) return true;
    const auto served = [this](const std::string& fingerprint) {
      const auto party = parties_.find(fingerprint);
      return party != parties_.end() && party->second->over();
    };
    const auto needless = [&](const Devices::Awaited& each) { return served(each.fingerprint); };
    for (std::size_t i = visitors_.size(); i < now.open.size(); ++i) {
      if (!served(now.open[i]->facts().fingerprint())) return false;
    }
    if (!std::ranges::all_of(now.awaited, needless)) return false;
    for (const Devices::Awaited& each : now.awaited) {
      journey_.listener.note(fmt::format("{} was not open yet when nothing was left for it", each.name));
    }
    return true;
  }

  void work(Visitor& visitor) {
    const Turn::Mine mine(journey_.turn);
    try {
      visitor.work();
    } catch (const DeviceLost& error) {
      lose(visitor, error);
    } catch (...) {  // NOLINT: carried to whoever called
      break_off();
    }
  }

  /// What is being thrown ends the sweep.
  void break_off() {
    if (!failure_) failure_ = std::current_exception();
    broken_ = true;
  }

  /// The others go on.
  void lose(Visitor& visitor, const DeviceLost& error) {
    if (!lost_) lost_ = std::current_exception();
    const std::string text = error.what();
    journey_.summary.lost.push_back(
        fmt::format("{} ({}) was lost: {}", visitor.workplace().name(),
                    visitor.workplace().gpu_uuid().empty() ? "the emulator" : visitor.workplace().gpu_uuid(),
                    text.substr(0, text.find('\n'))));
    if (!alone_) journey_.listener.note(journey_.summary.lost.back());
  }

  const std::function<bool()>& interrupted_;
  Devices& devices_;
  std::atomic<bool> broken_ = false;
  /// One device, and none to come: all is done by the caller's thread.
  bool alone_ = true;
  Journey journey_;
  std::map<std::string, std::unique_ptr<Party>> parties_;
  /// In the order in which the devices came.
  std::vector<std::unique_ptr<Visitor>> visitors_;
  std::map<std::string, int> names_;
  std::exception_ptr failure_;
  std::exception_ptr lost_;
};

}  // namespace

SweepSummary run_sweep(const SweepRequest& request, Catalogue& catalogue, Devices& devices, Store& store,
                       SweepListener& listener, const std::function<bool()>& interrupted) {
  if (request.compiler == nullptr) throw std::invalid_argument("run_sweep: there is no compiler");
  return Walk(request, catalogue, devices, store, listener, interrupted).run();
}

SweepSummary run_sweep(const SweepRequest& request, Catalogue& catalogue, std::span<Workplace* const> workplaces,
                       Store& store, SweepListener& listener, const std::function<bool()>& interrupted) {
  OpenDevices devices(workplaces);
  return run_sweep(request, catalogue, devices, store, listener, interrupted);
}

SweepSummary run_sweep(const SweepRequest& request, Catalogue& catalogue, Workplace& workplace, Store& store,
                       SweepListener& listener, const std::function<bool()>& interrupted) {
  Workplace* const one = &workplace;
  return run_sweep(request, catalogue, std::span<Workplace* const>(&one, 1), store, listener, interrupted);
}

SweepSummary run_sweep(SweepRequest request, Catalogue& catalogue, Device& device, Store& store,
                       SweepListener& listener, const std::function<bool()>& interrupted) {
  if (request.compiler == nullptr) request.compiler = &device.compiler();
  LocalWorkplace workplace(device);
  return run_sweep(request, catalogue, workplace, store, listener, interrupted);
}

}  // namespace tilewright
