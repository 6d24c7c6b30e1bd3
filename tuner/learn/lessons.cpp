// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/lessons.hpp"

#include <algorithm>
#include <cstdint>

#include "cache/model/problem.hpp"
#include "tuner/learn/drawn_shapes.hpp"

namespace tilewright {
namespace {

/// The op's spec for a teacher's, or nullopt if the op lacks the dtype.
std::optional<OpSpec> spec_of(const OpInterface& interface, const OpSpec& taught) {
  if (std::ranges::find(interface.dtypes, taught.dtype) == interface.dtypes.end()) return std::nullopt;
  OpSpec spec{interface.op, taught.dtype, {}};
  for (const Attribute& attribute : interface.attributes) {
    const std::string* const value = taught.attribute(attribute.name);
    const bool is_value = value != nullptr && std::ranges::find(attribute.values, *value) != attribute.values.end();
    spec.attributes.emplace_back(attribute.name, is_value ? *value : attribute.values.front());
  }
  return spec;
}

/// The learner's config for a teacher's, or nullopt if a parameter has no value.
std::optional<Config> config_of(const Config& taught, const Learner& learner, const Teacher& teacher,
                                const ProblemScope& scope) {
  Config config{taught.implementation, {}};
  for (const std::string& name : learner.parameters) {
    const auto value = std::ranges::find(taught.values, name, [](const auto& each) { return each.first; });
    if (value != taught.values.end()) {
      config.values.push_back(*value);
    } else if (const auto formula = teacher.parameters.find(name); formula != teacher.parameters.end()) {
      config.values.emplace_back(name, formula->second.integer(scope));
    } else {
      return std::nullopt;
    }
  }
  return config;
}

std::optional<ShapeSummary> shape_of(const ShapeSummary& taught, const Problem& problem, const Teacher& teacher,
                                     const std::map<std::string, Learner>& learners) {
  const ProblemScope scope(problem);
  if (teacher.when && !teacher.when->truth(scope)) return std::nullopt;
  ShapeSummary shape;
  for (const Formula& dim : teacher.dims) shape.dims.push_back(dim.integer(scope));
  if (std::ranges::any_of(shape.dims, [](std::int64_t dim) { return dim < 1; })) return std::nullopt;
  for (const ConfigSummary& each : taught.configs) {
    const auto learner = learners.find(each.id.config.implementation);
    if (!each.was_timed() || learner == learners.end()) continue;
    auto config = config_of(each.id.config, learner->second, teacher, scope);
    if (!config) continue;
    ConfigSummary& lesson = shape.configs.emplace_back();
    lesson.id = {learner->second.hash, *std::move(config)};
    lesson.median_ns = each.median_ns;
  }
  // A single config shows no difference.
  return shape.configs.size() < 2 ? std::nullopt : std::optional(std::move(shape));
}

}  // namespace

std::vector<SpecSummary> lessons_of(const Store& store, const OpInterface& interface, const DeviceFacts& device,
                                    MeasureMode mode, const Lessons& lessons) {
  std::vector<SpecSummary> found;
  for (const Teacher& teacher : lessons.teachers) {
    const std::optional<OpInterface> theirs = store.interface_of(teacher.op);
    if (!theirs) continue;
    for (const SpecSummary& taught : known_specs(store, *theirs, device, mode)) {
      auto spec = spec_of(interface, taught.spec);
      if (!spec) continue;
      SpecSummary lesson{*std::move(spec), {}};
      for (const ShapeSummary& each : taught.shapes) {
        auto shape = shape_of(each, problem_of(*theirs, taught.spec, each.dims), teacher, lessons.learners);
        if (shape) lesson.shapes.push_back(*std::move(shape));
      }
      if (!lesson.shapes.empty()) found.push_back(std::move(lesson));
    }
  }
  return found;
}

}  // namespace tilewright
