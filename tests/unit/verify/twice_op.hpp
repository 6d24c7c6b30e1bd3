// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tuner/definition/kernels_dir.hpp"
#include "tuner/device/cpu_device.hpp"
#include "tuner/verify/verify.hpp"

/// y = 2·x over rows × cols, with a reference and kernels that each go wrong in one way, all in one binary: a test
/// picks one by its entry. On the emulator unless a device is given.
namespace tilewright::testing {

class TwiceOp {
 public:
  explicit TwiceOp(DType dtype = DType::f32, std::int64_t rows = 7, std::int64_t cols = 33,
                   std::unique_ptr<Device> on = open_cpu_device());

  /// Sets the pitch of y in the samples, for the kernel `pitched`.
  void pitch_y(const char* elements);
  /// Makes it y = 2·x + addend, where y may be either input, for the kernels `adds…`.
  void add_input();
  /// Loads the implementation with the kernel `entry`.
  [[nodiscard]] std::unique_ptr<DeviceExecutable> load(const std::string& entry);
  /// Checks `entry` on fresh data.
  [[nodiscard]] Verdict check(const std::string& entry, ArgumentSet::Options options = {});

  std::unique_ptr<Device> device;
  OpDefinition definition;
  Problem problem;
  CompileResult compiled;
};

}  // namespace tilewright::testing
