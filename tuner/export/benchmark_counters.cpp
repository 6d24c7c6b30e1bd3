// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/benchmark_counters.hpp"

namespace tilewright {

std::map<std::string, double> benchmark_counters(const BenchmarkFacts& facts, const Timing& timing) {
  std::map<std::string, double> counters;
  if (timing.median_ns <= 0) return counters;
  if (facts.bytes) counters["GB/s"] = static_cast<double>(*facts.bytes) / timing.median_ns;
  if (facts.flops) counters["TFLOP/s"] = static_cast<double>(*facts.flops) / timing.median_ns / 1e3;
  if (facts.ceiling && facts.ceiling->best_ns() > 0) {
    counters["of_ceiling"] = facts.ceiling->best_ns() / timing.median_ns;
  }
  if (facts.build != nullptr && facts.build->registers > 0) {
    counters["registers"] = facts.build->registers;
    counters["spill_bytes"] = facts.build->spill_bytes;
  }
  if (timing.floor_ns > 0) counters["floor_ns"] = timing.floor_ns;
  counters["half_interval"] = (timing.high_ns - timing.low_ns) / 2 / timing.median_ns;
  if (timing.readings.sm_clock_mhz) counters["sm_clock_mhz"] = *timing.readings.sm_clock_mhz;
  if (timing.readings.power_mw) counters["power_w"] = *timing.readings.power_mw / 1e3;
  return counters;
}

}  // namespace tilewright
