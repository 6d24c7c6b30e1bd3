// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/app/chosen_problems.hpp"
#include "tuner/app/device_session.hpp"
#include "tuner/export/benchmark_counters.hpp"
#include "tuner/process/channel.hpp"

/// Times configs for Google Benchmark with the method of sweeps (docs/measuring.md). The caller asks for a number of
/// launches and gets their rounds.
namespace tilewright::app {

struct BenchRequest {
  Place place;
  Work work;
  /// See choose_problems(). nullopt selects the winners of all ops.
  std::optional<ProblemWords> problems;
  MeasureMode mode = MeasureMode::cold;
  /// Configs to time beside the winner and the base of each problem.
  std::vector<std::string> against;
};

/// One benchmark.
struct Timed {
  std::string name;
  const OpDefinition* definition = nullptr;
  Problem problem;
  MeasureMode mode = MeasureMode::cold;
  Candidate candidate;
  Roofline roofline;
};

class BenchRun {
 public:
  /// Opens the device and chooses the benchmarks. Null if cancelled. Throws as choose_problems(), and UsageError for a
  /// config that an op does not have. `listener` must outlive the run.
  [[nodiscard]] static std::unique_ptr<BenchRun> open(const BenchRequest& request, Listener& listener);

  [[nodiscard]] const std::vector<Timed>& timed() const noexcept { return timed_; }
  /// Device, driver, compiler, cache and version of Tilewright, by name.
  [[nodiscard]] Message context() const;
  /// The benchmarks that could not be timed, with the reasons.
  [[nodiscard]] std::map<std::string, std::string> failures() const;

  /// Times a benchmark: {"rounds_ns", "launches", "counters"}, or {"error"}. The first call for a benchmark compiles
  /// its config if needed and compares it with the reference.
  [[nodiscard]] Message answer(std::size_t index, std::int64_t iterations);

 private:
  BenchRun(const Place& place, Listener& listener);
  /// A benchmark's state between calls of answer().
  struct Known {
    std::optional<DeviceSession::Ready> ready;
    History::BuildOf build;
    /// Launches per round; 0 before the first round.
    int launches = 0;
    std::string error;
  };
  [[nodiscard]] Message time(const Timed& timed, Known& known, std::int64_t iterations);
  /// Why the benchmark cannot be timed; empty if it can.
  [[nodiscard]] std::string prepare(const Timed& timed, Known& known);

  Listener& listener_;
  Catalogue catalogue_;
  std::optional<Store> cache_;
  std::unique_ptr<DeviceSession> session_;
  std::vector<Timed> timed_;
  std::vector<Known> known_;
};

}  // namespace tilewright::app
