// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/cli/device_session.hpp"
#include "tuner/export/benchmark_counters.hpp"
#include "tuner/process/channel.hpp"

/// Configs timed for Google Benchmark, by the measuring that sweeps use (docs/measuring.md): it says how many launches
/// it wants, and gets the rounds that they take.
namespace tilewright::cli {

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
  /// All must outlive it.
  BenchRun(DeviceSession& bench, std::vector<Timed> timed)
      : bench_(bench), timed_(std::move(timed)), known_(timed_.size()) {}

  [[nodiscard]] const std::vector<Timed>& timed() const noexcept { return timed_; }
  /// Those that could not be timed, with the reasons.
  [[nodiscard]] std::map<std::string, std::string> failures() const;

  /// Times a benchmark: {"rounds_ns", "launches", "counters"}, or {"error"}. What is timed for the first time is
  /// compiled, where that is needed, and checked against the reference before.
  [[nodiscard]] Message answer(std::size_t index, std::int64_t iterations);

 private:
  /// What is known of a benchmark once it was asked for.
  struct Known {
    std::optional<DeviceSession::Ready> ready;
    History::BuildOf build;
    /// That a round counts for.
    int launches = 0;
    std::string error;
  };
  [[nodiscard]] Message time(const Timed& timed, Known& known, std::int64_t iterations);
  /// Empty, or why it cannot be timed.
  [[nodiscard]] std::string prepare(const Timed& timed, Known& known);

  DeviceSession& bench_;
  std::vector<Timed> timed_;
  std::vector<Known> known_;
};

}  // namespace tilewright::cli
