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
/// compiling ahead of measuring. Each trial is a row, including failures: nothing is tried twice, and a killed sweep
/// can continue. With one device, only the caller's thread uses store, listener and summary; else sweep_lock.hpp
/// applies.
namespace tilewright {

struct SweepRequest : SearchOptions {
  const OpDefinition* definition = nullptr;
  std::vector<Problem> problems;
  MeasureMode mode = MeasureMode::cold;
  /// Makes the binaries, and must outlive the sweep. May be null if run_sweep is given a Device, whose compiler is then
  /// used.
  Compiler* compiler = nullptr;
  /// Compile workers; 0: one per core.
  int jobs = 0;
  /// By problem key, the texts of the only configs to consider. Problems without an entry consider all.
  std::map<std::string, std::set<std::string>> only;
  /// If there are any, each device skips its problems without a recheck.
  Rechecks rechecks;
  /// For the whole sweep; each problem gets its share of the rest. 0: no limit.
  std::chrono::nanoseconds budget{0};
  /// Whether to measure the copy ceilings and, once per GPU, the compute rates: by a race, or exhaustively if the
  /// strategy is.
  bool ceilings = true;
  /// The user's command, for the sweep's row.
  std::string command;
  /// The places of GPU locks; nullopt: nothing is locked.
  std::optional<LockPlaces> locks;
};

/// Hears of a running sweep, one call at a time for all devices. Implementations print.
class SweepListener {
 public:
  virtual ~SweepListener() = default;
  /// The listener of one device, if there are several. Called once per device before other calls; lives as long as this
  /// one.
  [[nodiscard]] virtual SweepListener& on(const std::string& device) {
    static_cast<void>(device);
    return *this;
  }
  virtual void problem_started(const Problem& problem, std::size_t index, std::size_t of, std::size_t configs,
                               std::size_t already_measured) = 0;
  virtual void trial_done(const Problem& problem, const Trial& trial, bool is_best_so_far) = 0;
  /// Called often, with the compiles under way for all devices.
  virtual void compiling(std::size_t unfinished) { static_cast<void>(unfinished); }
  virtual void problem_done(const Problem& problem, const std::vector<Winner>& winners) = 0;
  virtual void note(const std::string& line) = 0;
};

struct SweepSummary {
  /// Problems finished.
  std::size_t problems = 0;
  /// Configs tried, and those that failed. Copy ceilings do not count.
  std::size_t measured = 0;
  std::size_t failed = 0;
  /// Configs that are illegal for their problem and device.
  std::size_t forbidden = 0;
  /// Configs left out by a limit on their number.
  std::size_t unconsidered = 0;
  /// Configs pruned because they cannot win, by this sweep or an earlier one.
  std::size_t pruned = 0;
  /// Trials taken from the cache.
  std::size_t reused = 0;
  /// Binaries compiled, including those of copy ceilings.
  std::size_t compiled = 0;
  /// Copy ceilings measured.
  std::size_t ceilings = 0;
  /// Problems whose winner was chosen before all configs were tried, by a limit of trials or time.
  std::size_t cut_short = 0;
  /// Problems without a winner.
  std::size_t without_winner = 0;
  /// For each problem that no config can serve: the rules that forbid it, by implementation.
  std::vector<std::string> refusals;
  /// Failed configs of the finished problems by kind, from this sweep or an earlier one.
  std::map<TrialStatus, std::size_t> failures;
  /// Problems on which the op's base failed, and how, in this sweep or an earlier one.
  std::vector<std::string> base_failures;
  /// Devices lost, in words, and the number of problems left without a device.
  std::vector<std::string> lost;
  std::size_t left = 0;
  bool interrupted = false;
  /// Compile time is the sum over all workers.
  std::chrono::duration<double> compile_seconds{}, measure_seconds{}, wall_seconds{};
  /// The time that devices waited only for compilers, summed over devices.
  std::chrono::duration<double> waited_seconds{};
};

/// Tunes the problems, each once. Stores each trial as it is made. Reuses a cached trial of the same problem, config,
/// implementation hash, mode, driver, compiler and device fingerprint. Any thread may call `interrupted`, often. Throws
/// CacheError if the cache fails, DeviceLost if all devices are lost, Error if the op's reference does not compile.
[[nodiscard]] SweepSummary run_sweep(const SweepRequest& request, Catalogue& catalogue, Devices& devices, Store& store,
                                     SweepListener& listener, const std::function<bool()>& interrupted);
[[nodiscard]] SweepSummary run_sweep(const SweepRequest& request, Catalogue& catalogue,
                                     std::span<TrialDevice* const> trial_devices, Store& store, SweepListener& listener,
                                     const std::function<bool()>& interrupted);
[[nodiscard]] SweepSummary run_sweep(const SweepRequest& request, Catalogue& catalogue, TrialDevice& trial_device,
                                     Store& store, SweepListener& listener, const std::function<bool()>& interrupted);
/// On a device of this process. A config that crashes a GPU ends the sweep: its trial is stored, and DeviceLost says
/// how to continue.
[[nodiscard]] SweepSummary run_sweep(SweepRequest request, Catalogue& catalogue, Device& device, Store& store,
                                     SweepListener& listener, const std::function<bool()>& interrupted);

}  // namespace tilewright
