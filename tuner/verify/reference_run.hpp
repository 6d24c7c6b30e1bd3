// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tuner/verify/inputs.hpp"

/// The reference kernel of an op, run once: what is right, in doubles.
namespace tilewright {

[[nodiscard]] constexpr bool is_output(const PlannedArg& arg) noexcept {
  return arg.role == ArgRole::out || arg.role == ArgRole::inout;
}

/// Runs the reference of `definition`, which `binary` holds. `values` are those of a launch, but for outputs, which are
/// doubles. Throws DeviceError when it fails.
void run_reference(Device& device, const OpDefinition& definition, const Problem& problem, const CompileResult& binary,
                   const std::vector<std::uint64_t>& values);

/// Room for the doubles of an output of `set`, at its strides, with a NaN pattern in every element and gap; an inout
/// argument's elements are its input's.
[[nodiscard]] std::unique_ptr<DeviceBuffer> room_for_expected(Device& device, const ArgumentSet& set, std::size_t arg);

}  // namespace tilewright
