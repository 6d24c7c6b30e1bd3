// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/regret_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "cache/base/units.hpp"
#include "tuner/app/regret_measure.hpp"
#include "tuner/definition/shapes.hpp"
#include "tuner/learn/drawn_shapes.hpp"
#include "tuner/learn/spec_summaries.hpp"

namespace tilewright::app {
namespace {

/// Adds the problems that are not there yet.
void add(JudgedShapes& judged, const std::vector<Problem>& problems, const std::vector<ShapeDims>& tuned) {
  for (const Problem& problem : problems) {
    const ShapeDims shape = shape_of(problem);
    if (std::ranges::find(judged.shapes, shape) != judged.shapes.end()) continue;
    judged.shapes.push_back(shape);
    if (std::ranges::find(tuned, shape) == tuned.end()) judged.untuned.push_back(problem);
  }
}

/// Notes that fewer shapes were drawn than asked for, and that some share a dim with a tuned shape of the op.
void tell_of(const std::vector<Problem>& drawn, const OpSpec& spec, const std::vector<ShapeDims>& of_op,
             std::size_t asked, std::vector<std::string>& notes) {
  if (drawn.size() < asked) {
    notes.push_back(fmt::format(
        "{0}: {2} of {1} could be drawn; the others are tuned, or have more bytes or flops than the tuned ones.",
        spec.text(), counted(asked, "shape"), drawn.size()));
  }
  const auto related = std::ranges::count_if(drawn, [&](const Problem& problem) {
    const ShapeDims shape = shape_of(problem);
    return std::ranges::any_of(of_op, [&](const ShapeDims& other) { return shares_a_dim(shape, other); });
  });
  if (related > 0) {
    notes.push_back(fmt::format("{}: {} of {} share a dim with a tuned shape of the op.", spec.text(), related,
                                counted(drawn.size(), "drawn shape")));
  }
}

}  // namespace

std::vector<JudgedShapes> judged_shapes(const Store& store, const ProblemWords& words,
                                        const std::filesystem::path& shapes_file, const OpInterface& interface,
                                        const std::vector<DeviceFacts>& devices, MeasureMode mode, std::size_t seeded,
                                        const RegretMeasure* measure, std::vector<std::string>& notes) {
  const std::string dims = dims_text(words, interface);
  std::vector<JudgedShapes> all;
  for (const DeviceFacts& device : devices) {
    std::vector<OpSpec> specs = tuned_specs(store, interface, device, mode);
    // The model learns from all specs of the op.
    const std::vector<ShapeDims> of_op = tuned_shapes_of(store, interface, device, mode, specs);
    std::erase_if(specs, std::not_fn(wanted_specs(words, interface)));
    for (const OpSpec& spec : specs) {
      JudgedShapes judged{device, spec};
      const std::vector<ShapeDims> tuned = tuned_shapes_of(store, interface, device, mode, {spec});
      if (!dims.empty()) add(judged, parse_shapes(dims, spec, interface), tuned);
      if (!shapes_file.empty()) add(judged, read_shapes_csv(shapes_file, spec, interface), tuned);
      if (seeded > 0) {
        const std::vector<Problem> drawn = measure->draw(spec, tuned, of_op, seeded);
        tell_of(drawn, spec, of_op, seeded, notes);
        add(judged, drawn, tuned);
        if (judged.shapes.empty()) continue;
      }
      all.push_back(std::move(judged));
    }
  }
  return all;
}

}  // namespace tilewright::app
