// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tuner/verify/inputs.hpp"

/// Runs an op's reference kernel, which gives the correct outputs as doubles.
namespace tilewright {

[[nodiscard]] constexpr bool is_output(const PlannedArg& arg) noexcept {
  return arg.role == ArgRole::out || arg.role == ArgRole::inout;
}

/// Runs the reference of `definition` from `binary`. `values` are those of a launch, but outputs are doubles. Throws
/// DeviceError if it fails.
void run_reference(Device& device, const OpDefinition& definition, const Problem& problem, const CompileResult& binary,
                   const std::vector<std::uint64_t>& values);

/// Memory for the doubles of an output of `set`, at its strides. All elements and gaps hold a NaN pattern, but an inout
/// argument's elements hold its input.
[[nodiscard]] std::unique_ptr<DeviceBuffer> room_for_expected(Device& device, const ArgumentSet& set, std::size_t arg);

}  // namespace tilewright
