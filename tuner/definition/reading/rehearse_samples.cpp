// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "tuner/definition/reading/rehearsal.hpp"
#include "tuner/definition/samples.hpp"

namespace tilewright::reading {
namespace {

void evaluate(const Sample& sample, const PlannedArg& arg, const Scope& scope) {
  if (sample.where && !sample.where->truth(scope)) return;
  const std::int64_t value = sample.formula->integer(scope);
  if (unit_roundoff(arg.type) > 0 || holds(arg.type, value)) return;
  const SourcePlace& place = sample.formula->place();
  throw DefinitionError({{place.file, place.line, place.column,
                          fmt::format("the sample of '{}' has the value {}, which {} does not hold{}", arg.name, value,
                                      name(arg.type), values_in(*sample.formula, scope))}});
}

/// Evaluates at the first and the last element and at the end of each extent, where formulas fail.
void evaluate_at_edges(const Sample& sample, const PlannedArg& arg, SampleScope& scope) {
  const std::size_t rank = arg.shape.size();
  if (std::ranges::find(arg.shape, 0) != arg.shape.end()) return;
  for (std::size_t edge = 0; edge <= rank + 1; ++edge) {
    std::vector<std::int64_t> place(rank, 0);
    for (std::size_t i = 0; i < rank; ++i) {
      if (edge == i || edge == rank) place[i] = arg.shape[i] - 1;
    }
    scope.set_indices(sample.index, place);
    evaluate(sample, arg, scope);
  }
  scope.set_indices({}, {});
}

void rehearse_arg(const OpDefinition& definition, const Problem& problem, const PlannedArg& arg) {
  if (arg.role == ArgRole::scalar) {
    static_cast<void>(scalar_sample(definition, arg.name, problem));
    return;
  }
  const auto found = definition.samples.find(arg.name);
  if (found == definition.samples.end()) return;
  SampleScope scope(definition, problem, 1);
  const Sample& sample = found->second;
  if (sample.fill == "formula") evaluate_at_edges(sample, arg, scope);
  if (sample.to) static_cast<void>(whole_bounds(sample, arg, scope));
  if (sample.made) static_cast<void>(problem_of(*sample.made, arg, problem));
}

void rehearse_set(const OpDefinition& definition, Mistakes& mistakes) {
  const OpInterface& interface = definition.interface;
  for (const OpSpec& spec : specs_to_rehearse(interface)) {
    for (const std::int64_t all : {std::int64_t{1}, std::int64_t{3}, std::int64_t{1001}}) {
      const std::vector<std::int64_t> dims(interface.dims.size(), all);
      const std::optional<Problem> problem = problem_to_rehearse(interface, spec, dims);
      if (!problem) continue;
      try {
        const std::vector<PlannedArg> args = plan_args(interface, *problem);
        for (const PlannedArg& arg : args) rehearse_arg(definition, *problem, arg);
        static_cast<void>(sample_strides(definition, *problem, args));
      } catch (const DefinitionError& error) {
        mistakes.add(error);
      }
    }
  }
}

}  // namespace

void rehearse_samples(const OpDefinition& definition, Mistakes& mistakes) {
  for (std::size_t i = 0; i <= definition.more_samples.size(); ++i) {
    rehearse_set(with_samples(definition, i), mistakes);
  }
}

}  // namespace tilewright::reading
