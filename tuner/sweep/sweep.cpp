// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/sweep.hpp"

#include <fmt/format.h>

#include <atomic>
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

class Walk {
 public:
  Walk(const SweepRequest& request, Catalogue& catalogue, std::span<Workplace* const> workplaces, Store& store,
       SweepListener& listener, const std::function<bool()>& interrupted)
      : interrupted_(interrupted),
        journey_(request, catalogue, store, listener, [this] { return broken_ || (interrupted_ && interrupted_()); }) {
    journey_.builder.retry_failed(request.retry.count(TrialStatus::compile_failed) != 0);
    std::map<std::string, std::vector<std::string>> members;
    for (const Workplace* each : workplaces) members[each->facts().fingerprint()].push_back(each->gpu_uuid());
    std::map<std::string, int> names;
    for (Workplace* each : workplaces) {
      auto& party = parties_[each->facts().fingerprint()];
      if (!party) party = std::make_unique<Party>(journey_, *each, members[each->facts().fingerprint()]);
      const int number = ++names[each->name()];
      SweepListener& told =
          workplaces.size() == 1
              ? listener
              : listener.on(number == 1 ? each->name() : fmt::format("{} ({})", each->name(), number));
      visitors_.push_back(std::make_unique<Visitor>(journey_, *party, *each, told, workplaces.size()));
    }
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
    if (visitors_.size() == 1) return work(*visitors_.front());
    std::vector<std::jthread> threads;
    for (const auto& visitor : visitors_) threads.emplace_back([&] { work(*visitor); });
  }

  void work(Visitor& visitor) {
    const Turn::Mine mine(journey_.turn);
    try {
      visitor.work();
    } catch (const DeviceLost& error) {
      lose(visitor, error);
    } catch (...) {  // NOLINT: carried to whoever called
      if (!failure_) failure_ = std::current_exception();
      broken_ = true;
    }
  }

  /// The others go on.
  void lose(Visitor& visitor, const DeviceLost& error) {
    if (!lost_) lost_ = std::current_exception();
    const std::string text = error.what();
    journey_.summary.lost.push_back(
        fmt::format("{} ({}) was lost: {}", visitor.workplace().name(),
                    visitor.workplace().gpu_uuid().empty() ? "the emulator" : visitor.workplace().gpu_uuid(),
                    text.substr(0, text.find('\n'))));
    if (visitors_.size() > 1) journey_.listener.note(journey_.summary.lost.back());
  }

  const std::function<bool()>& interrupted_;
  std::atomic<bool> broken_ = false;
  Journey journey_;
  std::map<std::string, std::unique_ptr<Party>> parties_;
  std::vector<std::unique_ptr<Visitor>> visitors_;
  std::exception_ptr failure_;
  std::exception_ptr lost_;
};

}  // namespace

SweepSummary run_sweep(const SweepRequest& request, Catalogue& catalogue, std::span<Workplace* const> workplaces,
                       Store& store, SweepListener& listener, const std::function<bool()>& interrupted) {
  if (request.compiler == nullptr) throw std::invalid_argument("run_sweep: there is no compiler");
  if (workplaces.empty()) throw std::invalid_argument("run_sweep: there is no device");
  return Walk(request, catalogue, workplaces, store, listener, interrupted).run();
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
