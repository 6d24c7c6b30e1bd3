// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cache/model/device_facts.hpp"
#include "cache/model/interface.hpp"
#include "cache/model/problem.hpp"
#include "cache/store/store.hpp"

/// The tuned shapes of an op on a device, by dtype and attributes.
namespace tilewright {

/// The shapes of a spec, with what was timed at each.
struct SpecSummary {
  OpSpec spec;
  std::vector<ShapeSummary> shapes;
};

/// Those that have a best winner, in the order of their texts; of this very interface.
[[nodiscard]] std::vector<OpSpec> tuned_specs(const Store& store, const OpInterface& interface,
                                              const DeviceFacts& device, MeasureMode mode);
/// The same with all their tuned shapes.
[[nodiscard]] std::vector<SpecSummary> known_specs(const Store& store, const OpInterface& interface,
                                                   const DeviceFacts& device, MeasureMode mode);

}  // namespace tilewright
