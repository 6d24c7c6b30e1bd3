// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cache/model/device_facts.hpp"
#include "cache/model/interface.hpp"
#include "cache/model/problem.hpp"
#include "cache/store/store.hpp"

/// The tuned shapes of an op on a device, by spec. Reads the store.
namespace tilewright {

/// A spec's shapes, with the configs known at each.
struct SpecSummary {
  OpSpec spec;
  std::vector<ShapeSummary> shapes;
};

/// The specs that have a best winner with this interface, sorted by text.
[[nodiscard]] std::vector<OpSpec> tuned_specs(const Store& store, const OpInterface& interface,
                                              const DeviceFacts& device, MeasureMode mode);
/// The tuned shapes of these specs, one spec after the other.
[[nodiscard]] std::vector<ShapeDims> tuned_shapes_of(const Store& store, const OpInterface& interface,
                                                     const DeviceFacts& device, MeasureMode mode,
                                                     const std::vector<OpSpec>& specs);
/// The same specs, with all their tuned shapes.
[[nodiscard]] std::vector<SpecSummary> known_specs(const Store& store, const OpInterface& interface,
                                                   const DeviceFacts& device, MeasureMode mode);

}  // namespace tilewright
