// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cache/store/history.hpp"
#include "cache/store/records.hpp"

/// What stands beside a time in Google Benchmark's columns. Pure.
namespace tilewright {

/// What is known before a config is timed.
struct BenchmarkFacts {
  std::optional<std::int64_t> bytes, flops;
  /// Of the same traffic on the same device.
  std::optional<Ceiling> ceiling;
  /// Null where its figures are not known.
  const History::BuildOf* build = nullptr;
};

/// By name: "GB/s", "TFLOP/s", "of_ceiling" (a fraction), "registers", "spill_bytes", "floor_ns", "half_interval" (of the
/// median, a fraction), "sm_clock_mhz", "power_w". Those that are not known are missing.
[[nodiscard]] std::map<std::string, double> benchmark_counters(const BenchmarkFacts& facts, const Timing& timing);

/// What Google Benchmark appends to the names of benchmarks whose times it is told.
inline constexpr const char* kManualTime = "/manual_time";

}  // namespace tilewright
