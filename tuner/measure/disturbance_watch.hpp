// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "cache/model/records.hpp"

/// Repeats measurements that are disturbed from outside (another process on the GPU, a slowdown that protects the
/// hardware), a limited number of times. Readings before and after each show this (docs/measuring.md). The software
/// power cap is normal for a GPU that computes without pause: it is only recorded. For the device's thread.
namespace tilewright {

/// Bits of nvmlClocksEventReasons.
enum class ClockReason : std::uint64_t {
  idle = 0x1,
  application_clocks = 0x2,
  software_power_cap = 0x4,
  hardware_slowdown = 0x8,
  sync_boost = 0x10,
  software_thermal_slowdown = 0x20,
  hardware_thermal_slowdown = 0x40,
  hardware_power_brake = 0x80,
  display_clocks = 0x100,
};

/// Their names, separated by commas: "software power cap, idle"; empty for none.
[[nodiscard]] std::string clock_reasons_text(std::uint64_t reasons);

/// Describes the disturbance between these readings; empty if there is none.
[[nodiscard]] std::string disturbance(const DeviceReadings& before, const DeviceReadings& after);

class DisturbanceWatch {
 public:
  /// `read` returns the device's current readings. `interrupted` (may be empty) is called while it waits.
  DisturbanceWatch(std::function<DeviceReadings()> read, std::function<bool()> interrupted)
      : read_(std::move(read)), interrupted_(std::move(interrupted)) {}

  struct Seen {
    /// Readings of the final measurement: the clocks after it, the reasons of both ends.
    DeviceReadings readings;
    /// Why no clean measurement was possible; empty if it was.
    std::string disturbed;
    int retakes = 0;
  };
  /// Calls `measure`, and again while disturbed, at most three times, after growing waits. After that fails, later
  /// calls measure once until one is clean: a lasting process must not make a sweep four times as long.
  [[nodiscard]] Seen over(const std::function<void()>& measure);

 private:
  std::function<DeviceReadings()> read_;
  std::function<bool()> interrupted_;
  bool may_wait_ = true;
};

}  // namespace tilewright
