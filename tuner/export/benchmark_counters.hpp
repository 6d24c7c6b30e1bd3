// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "cache/model/records.hpp"
#include "cache/store/history.hpp"
#include "tuner/analysis/roofline.hpp"

/// The counters beside a time in Google Benchmark's form. Pure.
namespace tilewright {

/// By name: "GB/s", "TFLOP/s", "share_of_ceiling" (of the ceiling that bounds the time, as in tables), "registers",
/// "spill_bytes", "floor_ns", "half_interval_share" (of the median), "sm_clock_mhz", "power_w". Unknown ones are
/// missing. `build` may be null.
[[nodiscard]] std::map<std::string, double> benchmark_counters(const Roofline& roofline, const History::BuildOf* build,
                                                               const Timing& timing);

/// Google Benchmark's suffix for benchmarks with manual time.
inline constexpr const char* kManualTime = "/manual_time";

}  // namespace tilewright
