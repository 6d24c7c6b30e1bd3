// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/device/device.hpp"
#include "tuner/measure/measure.hpp"
#include "tuner/sweep/config_runner.hpp"
#include "tuner/sweep/device_lock.hpp"
#include "tuner/sweep/devices.hpp"
#include "tuner/sweep/recheck.hpp"
#include "tuner/sweep/search_options.hpp"

/// A sweep: problems × configs through compile → verify → measure → store, on each device one problem after the other,
/// compiling ahead of measuring. Every trial is a row, failures included, so that nothing is tried twice and a sweep
/// that was killed goes on where it stopped. Store, listener and summary are used by the caller's thread alone where
/// there is one device, else as sweep_lock.hpp says.
namespace tilewright {

struct SweepRequest : SearchOptions {
  const OpDefinition* definition = nullptr;
  std::vector<Problem> problems;
  MeasureMode mode = MeasureMode::cold;
  /// Makes the binaries, and must outlive the sweep. May be null where run_sweep is given a Device: then it is that
  /// one's.
  Compiler* compiler = nullptr;
  /// Compile workers; 0: one a core.
  int jobs = 0;
  /// By problem's key, the texts of the configs that alone are considered; a problem that is not named has all.
  std::map<std::string, std::set<std::string>> only;
  /// If there are any, a device's other problems are left.
  Rechecks rechecks;
  /// Of the whole sweep; each problem gets its share of the rest. 0: no bound.
  std::chrono::nanoseconds budget{0};
  /// Measure the copy ceiling of each problem's bytes and, once a GPU, its compute rate: by a race, unless all is
  /// measured.
  bool ceilings = true;
  /// The command that was asked, for the sweep's row.
  std::string command;
  /// The places of GPUs' locks; without them nothing is locked.
  std::optional<LockPlaces> locks;
};

/// Hears of a sweep while it runs, one call at a time for all devices; implementations print.
class SweepListener {
 public:
  virtual ~SweepListener() = default;
  /// The listener of one device, where there are several: asked once for each, before anything else; lives as long as
  /// this one.
  [[nodiscard]] virtual SweepListener& on(const std::string& device) {
    static_cast<void>(device);
    return *this;
  }
  virtual void problem_started(const Problem& problem, std::size_t index, std::size_t of, std::size_t configs,
                               std::size_t already_measured) = 0;
  virtual void trial_done(const Problem& problem, const Trial& trial, bool is_best_so_far) = 0;
  /// Called often: compiles under way, of all devices together.
  virtual void compiling(std::size_t unfinished) { static_cast<void>(unfinished); }
  virtual void problem_done(const Problem& problem, const std::vector<Winner>& winners) = 0;
  virtual void note(const std::string& line) = 0;
};

struct SweepSummary {
  /// Problems finished.
  std::size_t problems = 0;
  /// Configs tried, failures included, and of these the failures. Those of copy ceilings do not count.
  std::size_t measured = 0;
  std::size_t failed = 0;
  /// Points of the spaces that are no configs for their problem and device.
  std::size_t forbidden = 0;
  /// Configs left out since only so many were to be considered.
  std::size_t unconsidered = 0;
  /// Configs left out since they cannot win, now or by a sweep before.
  std::size_t pruned = 0;
  /// Trials that the cache had.
  std::size_t reused = 0;
  /// Binaries compiled, those of copy ceilings included.
  std::size_t compiled = 0;
  /// Copy ceilings measured.
  std::size_t ceilings = 0;
  /// Problems whose winner was chosen before all configs were tried: a bound of trials or time left some.
  std::size_t cut_short = 0;
  /// Problems that ended without a winner.
  std::size_t without_winner = 0;
  /// Of these, the problems that no config can serve: which rules forbid it, by implementation.
  std::vector<std::string> refusals;
  /// Failed configs of the problems finished, by kind; of this sweep or one before.
  std::map<TrialStatus, std::size_t> failures;
  /// Problems on which the op's base failed, and how; of this sweep or one before.
  std::vector<std::string> base_failures;
  /// Devices that answer no more, in words, and problems that were left for want of one.
  std::vector<std::string> lost;
  std::size_t left = 0;
  bool interrupted = false;
  /// Compiling is the sum over all workers.
  std::chrono::duration<double> compile_seconds{}, measure_seconds{}, wall_seconds{};
  /// The time for which devices only waited for compilers, all of them together.
  std::chrono::duration<double> waited_seconds{};
};

/// Tunes the problems, each once. Each trial is stored as it is made, and one that the cache has of the same problem,
/// config, implementation hash, mode, driver, compiler and device fingerprint is not made again. `interrupted` is asked
/// often, by any thread. Throws CacheError or DeviceLost when the cache or every device is lost, Error when the op's
/// reference does not compile.
[[nodiscard]] SweepSummary run_sweep(const SweepRequest& request, Catalogue& catalogue, Devices& devices, Store& store,
                                     SweepListener& listener, const std::function<bool()>& interrupted);
[[nodiscard]] SweepSummary run_sweep(const SweepRequest& request, Catalogue& catalogue,
                                     std::span<TrialDevice* const> trial_devices, Store& store, SweepListener& listener,
                                     const std::function<bool()>& interrupted);
[[nodiscard]] SweepSummary run_sweep(const SweepRequest& request, Catalogue& catalogue, TrialDevice& trial_device,
                                     Store& store, SweepListener& listener, const std::function<bool()>& interrupted);
/// On a device of this process. A config that crashes on a GPU costs the device: its trial is stored, and the sweep
/// ends with DeviceLost, whose text says how to go on.
[[nodiscard]] SweepSummary run_sweep(SweepRequest request, Catalogue& catalogue, Device& device, Store& store,
                                     SweepListener& listener, const std::function<bool()>& interrupted);

}  // namespace tilewright
