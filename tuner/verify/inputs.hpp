// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cache/plan.hpp"
#include "tuner/definition/definition.hpp"
#include "tuner/device/device.hpp"

/// The arguments of a problem in device memory: random inputs, poisoned outputs, guard zones around both. Verify and
/// bench use the same ones.
namespace tilewright {

/// One tensor with its guard zones: `[guard | tensor | guard]`, guards of a fixed pattern.
struct GuardedTensor {
  std::unique_ptr<DeviceBuffer> buffer;
  Address address = 0;
  std::size_t bytes = 0;
};

/// One argument set. The address order is the plan's.
class ArgumentSet {
 public:
  /// `misalign_elements` shifts every tensor by that many elements past a 256-byte boundary; `in_place` puts each
  /// output that may alias an input there.
  struct Options {
    std::uint64_t seed = 1;
    int misalign_elements = 0;
    bool in_place = false;
  };
  /// Allocates and fills. Throws DeviceError when memory does not suffice.
  ArgumentSet(Device& device, const OpDefinition& definition, const Problem& problem, Options options);

  [[nodiscard]] const std::vector<PlannedArg>& args() const noexcept { return args_; }
  /// Values for a launch; workspaces are the caller's.
  [[nodiscard]] const std::vector<std::uint64_t>& values() const noexcept { return values_; }
  /// Bytes of all tensors.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Fills outputs with NaN patterns, restores inout arguments and in-place inputs.
  void poison_outputs();
  /// Empty when all guards and all pure inputs are as they were; else what was written, in words.
  [[nodiscard]] std::string damage() const;
  /// The bytes of one tensor now.
  [[nodiscard]] std::vector<std::byte> read(std::size_t arg) const;

 private:
  Device& device_;
  std::vector<PlannedArg> args_;
  std::vector<std::uint64_t> values_;
  std::vector<GuardedTensor> tensors_;
  std::vector<std::vector<std::byte>> originals_;
  std::size_t bytes_ = 0;
};

}  // namespace tilewright
