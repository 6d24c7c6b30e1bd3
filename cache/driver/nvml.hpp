// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "cache/model/records.hpp"

/// Clock, temperature, power and throttle reasons of one GPU through NVML, opened at run time. A machine without NVML
/// simply has no readings; `doctor` says so.
namespace tilewright {

class Nvml {
 public:
  /// Finds the GPU by its UUID. Never throws: without NVML every reading is absent and `why()` says why.
  explicit Nvml(const std::string& gpu_uuid) noexcept;
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Readings now; throttle reasons are those active now. Processes are those of the last tenth of a second: to list
  /// them takes the driver a while.
  [[nodiscard]] DeviceReadings read() const noexcept;
  /// Processes with a compute context on the GPU, this one included; -1 when unknown.
  [[nodiscard]] int compute_processes() const noexcept;
  [[nodiscard]] const std::string& why() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright
