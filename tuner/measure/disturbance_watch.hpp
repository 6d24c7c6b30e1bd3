// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "cache/model/records.hpp"

/// Watches over measurements: what comes from outside and spoils a time (another process on the GPU, a slowdown that
/// protects the hardware) is noticed by readings before and after it, and the measurement is taken again, within a
/// bound (docs/measuring.md). The software power cap is how a GPU that computes without a pause lives: it is recorded
/// and no more.
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

/// Their names, with commas between them: "software power cap, idle"; empty for none.
[[nodiscard]] std::string clock_reasons_text(std::uint64_t reasons);

/// The disturbance of a time between these readings, in words; empty when none is known.
[[nodiscard]] std::string disturbance(const DeviceReadings& before, const DeviceReadings& after);

class DisturbanceWatch {
 public:
  /// `read` gives the device's readings now. `interrupted` (may be empty) is asked while it waits for calm.
  DisturbanceWatch(std::function<DeviceReadings()> read, std::function<bool()> interrupted)
      : read_(std::move(read)), interrupted_(std::move(interrupted)) {}

  struct Seen {
    /// Readings of the measurement that stands: clocks after it, reasons of both ends.
    DeviceReadings readings;
    /// Why it could not be had clean; empty when it was.
    std::string disturbed;
    int retakes = 0;
  };
  /// Calls `measure`, and again while it is disturbed: three times at most, after waits that grow. Once that was in
  /// vain, later calls measure once, until one is clean: a process that stays must not make a sweep four times as long.
  [[nodiscard]] Seen over(const std::function<void()>& measure);

 private:
  /// False when interrupted.
  [[nodiscard]] bool wait(int retake) const;

  std::function<DeviceReadings()> read_;
  std::function<bool()> interrupted_;
  bool may_wait_ = true;
};

}  // namespace tilewright
