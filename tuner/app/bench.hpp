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

/// Times configs for Google Benchmark by the method of sweeps (docs/measuring.md): it asks for a number of launches,
/// and gets their rounds.
namespace tilewright::app {

struct BenchRequest {
  Place place;
  Work work;
  /// As choose_problems() takes it; nothing: the winners of all ops.
  std::optional<ProblemWords> problems;
  MeasureMode mode = MeasureMode::cold;
  /// Timed beside the winner and the base of every problem.
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
  /// Opens the device and chooses what is timed. Null when cancelled meanwhile. Throws as choose_problems(), and
  /// UsageError for a config that an op does not have. The listener must outlive it.
  [[nodiscard]] static std::unique_ptr<BenchRun> open(const BenchRequest& request, Listener& listener);

  [[nodiscard]] const std::vector<Timed>& timed() const noexcept { return timed_; }
  /// Names and texts of machine and programs.
  [[nodiscard]] Message context() const;
  /// Those that could not be timed, with the reasons.
  [[nodiscard]] std::map<std::string, std::string> failures() const;

  /// Times a benchmark: {"rounds_ns", "launches", "counters"}, or {"error"}. Before its first timing a config is
  /// compiled, where needed, and checked against the reference.
  [[nodiscard]] Message answer(std::size_t index, std::int64_t iterations);

 private:
  BenchRun(const Place& place, Listener& listener);
  /// A benchmark that was asked for.
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

  Listener& listener_;
  Catalogue catalogue_;
  std::optional<Store> cache_;
  std::unique_ptr<DeviceSession> session_;
  std::vector<Timed> timed_;
  std::vector<Known> known_;
};

}  // namespace tilewright::app
