// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/spec_summaries.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "tuner/learn/drawn_shapes.hpp"

namespace tilewright {

std::vector<OpSpec> tuned_specs(const Store& store, const OpInterface& interface, const DeviceFacts& device,
                                MeasureMode mode) {
  std::map<std::string, OpSpec> by_text;
  const std::string hash = interface.hash();
  for (const WinnerRow& row : store.list_winners(
           {.op = interface.op, .fingerprint = device.fingerprint(), .mode = mode, .role = WinnerRole::best})) {
    if (row.interface_hash == hash) by_text.emplace(row.problem.spec.text(), row.problem.spec);
  }
  std::vector<OpSpec> specs;
  for (auto& [text, spec] : by_text) specs.push_back(std::move(spec));
  return specs;
}

std::vector<ShapeDims> tuned_shapes_of(const Store& store, const OpInterface& interface, const DeviceFacts& device,
                                       MeasureMode mode, const std::vector<OpSpec>& specs) {
  std::vector<ShapeDims> shapes;
  for (const OpSpec& spec : specs) {
    const Problem problem = problem_of(interface, spec, ShapeDims(interface.dims.size(), 1));
    std::ranges::move(store.tuned_shapes({problem, interface.hash(), device.fingerprint()}, mode),
                      std::back_inserter(shapes));
  }
  return shapes;
}

std::vector<SpecSummary> known_specs(const Store& store, const OpInterface& interface, const DeviceFacts& device,
                                     MeasureMode mode) {
  std::vector<SpecSummary> known;
  for (OpSpec& spec : tuned_specs(store, interface, device, mode)) {
    const ProblemKey key{problem_of(interface, spec, ShapeDims(interface.dims.size(), 1)), interface.hash(),
                         device.fingerprint()};
    std::vector<ShapeSummary> shapes = store.known_shapes(key, mode, store.tuned_shapes(key, mode));
    known.push_back({std::move(spec), std::move(shapes)});
  }
  return known;
}

}  // namespace tilewright
