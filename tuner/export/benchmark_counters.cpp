// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/benchmark_counters.hpp"

namespace tilewright {

std::map<std::string, double> benchmark_counters(const Roofline& roofline, const History::BuildOf* build,
                                                 const Timing& timing) {
  std::map<std::string, double> counters;
  if (timing.median_ns <= 0) return counters;
  if (roofline.bytes) counters["GB/s"] = static_cast<double>(*roofline.bytes) / timing.median_ns;
  if (roofline.flops) counters["TFLOP/s"] = static_cast<double>(*roofline.flops) / timing.median_ns / 1e3;
  if (const auto share = share_of_ceiling(roofline, &timing)) counters["share_of_ceiling"] = *share;
  if (build != nullptr && build->registers > 0) {
    counters["registers"] = build->registers;
    counters["spill_bytes"] = build->spill_bytes;
  }
  if (timing.floor_ns > 0) counters["floor_ns"] = timing.floor_ns;
  counters["half_interval_share"] = (timing.high_ns - timing.low_ns) / 2 / timing.median_ns;
  if (timing.readings.sm_clock_mhz) counters["sm_clock_mhz"] = *timing.readings.sm_clock_mhz;
  if (timing.readings.power_mw) counters["power_w"] = *timing.readings.power_mw / 1e3;
  return counters;
}

}  // namespace tilewright
