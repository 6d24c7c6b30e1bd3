// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/ceiling.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/definition/shapes.hpp"

namespace tilewright {
namespace {

/// The copy op's attribute.
constexpr std::string_view kReads = "reads";

}  // namespace

bool can_read(const OpInterface& copy, int reads) {
  const auto found = std::find_if(copy.attributes.begin(), copy.attributes.end(),
                                  [](const Attribute& attribute) { return attribute.name == kReads; });
  if (found == copy.attributes.end()) return reads == 1;
  return std::find(found->values.begin(), found->values.end(), std::to_string(reads)) != found->values.end();
}

Problem copy_problem(const OpInterface& copy, DType dtype, std::int64_t bytes, int reads) {
  OpSpec spec = parse_spec(copy.op, copy);
  for (auto& [attribute, value] : spec.attributes) {
    if (attribute == kReads) value = std::to_string(reads);
  }
  if (std::find(copy.dtypes.begin(), copy.dtypes.end(), dtype) != copy.dtypes.end()) spec.dtype = dtype;
  const auto size = static_cast<std::int64_t>(size_of(spec.dtype));
  const std::int64_t elements = std::max<std::int64_t>(1, bytes / ((reads + 1) * size));
  return make_problem(spec, copy, std::span(&elements, 1));
}

const char* op_of_rate(std::string_view unit) noexcept { return unit == kFp32 ? "fma" : "mma"; }

std::optional<Problem> rate_problem(const OpDefinition& op, std::string_view unit) {
  OpSpec spec = parse_spec(op.interface.op, op.interface);
  for (const DType dtype : op.interface.dtypes) {
    spec.dtype = dtype;
    Problem problem = default_shapes(op, spec, false).front();
    if (op.unit_of(problem) == unit) return problem;
  }
  return std::nullopt;
}

double memcpy_ns(Device& device, std::int64_t bytes, MeasureMode mode, const StopRule& stop,
                 const std::function<bool()>& interrupted) {
  const auto half = static_cast<std::size_t>(std::max<std::int64_t>(1, bytes / 2));
  const int sets = input_sets_for(device.facts(), 2 * half, device.free_bytes(), mode);
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  std::vector<Address> sources;
  std::vector<Address> destinations;
  for (int i = 0; i < sets; ++i) {
    for (auto* addresses : {&sources, &destinations}) {
      buffers.push_back(device.allocate(half, "copy ceiling"));
      // Unwritten memory may be backed by one zero page, which copies faster than memory does.
      device.fill(buffers.back()->address(), static_cast<std::uint8_t>(i + 1), half);
      addresses->push_back(buffers.back()->address());
    }
  }
  const double estimate = device.copy_rounds(mode, 1, destinations, sources, half)->run();
  const int launches = mode == MeasureMode::events ? 1 : launches_for(estimate, kRoundTarget, sets);
  const auto rounds = device.copy_rounds(mode, launches, destinations, sources, half);
  return measure(*rounds, stop, interrupted).median_ns;
}

}  // namespace tilewright
