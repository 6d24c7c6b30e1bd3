// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/disturbance_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tuner/measure/retakes.hpp"

namespace tilewright {
namespace {

constexpr std::uint64_t bit(ClockReason reason) { return static_cast<std::uint64_t>(reason); }

constexpr std::pair<ClockReason, const char*> kNames[] = {
    {ClockReason::software_power_cap, "software power cap"},
    {ClockReason::software_thermal_slowdown, "software thermal slowdown"},
    {ClockReason::hardware_thermal_slowdown, "hardware thermal slowdown"},
    {ClockReason::hardware_power_brake, "hardware power brake"},
    {ClockReason::hardware_slowdown, "hardware slowdown"},
    {ClockReason::application_clocks, "application clocks"},
    {ClockReason::sync_boost, "sync boost"},
    {ClockReason::display_clocks, "display clocks"},
    {ClockReason::idle, "idle"},
};

constexpr std::uint64_t kSlowdowns = bit(ClockReason::software_thermal_slowdown) |
                                     bit(ClockReason::hardware_thermal_slowdown) |
                                     bit(ClockReason::hardware_power_brake) | bit(ClockReason::hardware_slowdown);

std::uint64_t reasons_of(const DeviceReadings& before, const DeviceReadings& after) {
  return before.throttle_reasons.value_or(0) | after.throttle_reasons.value_or(0);
}

}  // namespace

std::string clock_reasons_text(std::uint64_t reasons) {
  std::string text;
  for (const auto& [reason, name] : kNames) {
    if ((reasons & bit(reason)) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
    reasons &= ~bit(reason);
  }
  if (reasons != 0) text += fmt::format("{}reasons 0x{:x}", text.empty() ? "" : ", ", reasons);
  return text;
}

std::string disturbance(const DeviceReadings& before, const DeviceReadings& after) {
  std::string text = clock_reasons_text(reasons_of(before, after) & kSlowdowns);
  const int others = std::max(before.other_processes.value_or(0), after.other_processes.value_or(0));
  if (others == 0) return text;
  return fmt::format("{}{}{} other process{} on the GPU", text, text.empty() ? "" : ", ", others,
                     others == 1 ? "" : "es");
}

DisturbanceWatch::Seen DisturbanceWatch::over(const std::function<void()>& measure) {
  Seen seen;
  for (;; ++seen.retakes) {
    const DeviceReadings before = read_();
    measure();
    seen.readings = read_();
    seen.disturbed = disturbance(before, seen.readings);
    if (before.throttle_reasons) seen.readings.throttle_reasons = reasons_of(before, seen.readings);
    if (seen.disturbed.empty()) {
      may_wait_ = true;
      return seen;
    }
    if (!may_wait_ || seen.retakes == kMostRetakes || !wait_for_retake(seen.retakes, interrupted_)) break;
  }
  may_wait_ = false;
  seen.disturbed = fmt::format("disturbed by {}{}", seen.disturbed,
                               seen.retakes > 0 ? fmt::format(", and so {} times before", seen.retakes) : "");
  return seen;
}

}  // namespace tilewright
