// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "cache/model/records.hpp"

/// Clock, temperature, power and throttle reasons of one GPU through NVML, opened at run time. Without NVML there are
/// no readings; `doctor` says so. For one thread at a time.
namespace tilewright {

class Nvml {
 public:
  /// Finds the GPU by its UUID. Does not throw: without NVML all readings are absent and why() gives the reason.
  explicit Nvml(const std::string& gpu_uuid) noexcept;
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Readings of this moment, with the throttle reasons now active. The count of processes may be 0.1 s old: the driver
  /// lists them slowly.
  [[nodiscard]] DeviceReadings read() const noexcept;
  /// Processes with a compute context on the GPU, this one included; -1 if unknown.
  [[nodiscard]] int compute_processes() const noexcept;
  [[nodiscard]] const std::string& why() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright
