// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/bench/bench.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/device/device.hpp"

/// A sweep: problems × configs through compile → verify → measure → store, one problem after the other, compiling ahead
/// of measuring. Every trial is a row, failures included, so that nothing is tried twice and a sweep that was killed goes
/// on where it stopped.
namespace tilewright {

struct SweepRequest {
  const OpDefinition* definition = nullptr;
  std::vector<Problem> problems;
  MeasureMode mode = MeasureMode::cold;
  StopRule stop;
  /// Compile workers; 0: one a core.
  int jobs = 0;
  /// Measure the copy ceiling of each problem's bytes.
  bool ceilings = true;
  /// Measure again what the cache already has.
  bool again = false;
  /// What was asked, for the sweep's row.
  std::string command;
};

/// What a sweep tells while it runs; implementations print.
class SweepListener {
 public:
  virtual ~SweepListener() = default;
  virtual void problem_started(const Problem& problem, std::size_t index, std::size_t of, std::size_t configs,
                               std::size_t already_measured) = 0;
  virtual void trial_done(const Problem& problem, const Trial& trial, bool is_best_so_far) = 0;
  virtual void problem_done(const Problem& problem, const std::vector<Winner>& winners) = 0;
  virtual void note(const std::string& line) = 0;
};

struct SweepSummary {
  std::size_t problems = 0;
  std::size_t measured = 0;
  std::size_t reused = 0;
  std::size_t failed = 0;
  std::size_t compiled = 0;
  /// Problems that ended without a winner.
  std::size_t without_winner = 0;
  bool interrupted = false;
  std::chrono::duration<double> compile_seconds{}, measure_seconds{}, wall_seconds{};
};

/// `interrupted` is asked often (Ctrl-C); what was measured is kept. Throws CacheError or DeviceError when the cache or
/// the device itself fails.
[[nodiscard]] SweepSummary run_sweep(const SweepRequest& request, Catalogue& catalogue, Device& device, Store& store,
                                     SweepListener& listener, const std::function<bool()>& interrupted);

}  // namespace tilewright
