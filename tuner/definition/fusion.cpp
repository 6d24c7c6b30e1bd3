// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/fusion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/definition/catalogue.hpp"

namespace tilewright {
namespace {

[[noreturn]] void fail(const FusionStep& step, const std::string& why) {
  throw DefinitionError({{step.place.file, step.place.line, step.place.column,
                          fmt::format("step '{}' of [fusion]: {}", step.name, why)}});
}

const OpDefinition& definition_of(const FusionStep& step, Catalogue& catalogue) {
  try {
    return catalogue.find(step.op);
  } catch (const DefinitionError&) {
    throw;  // the op's own mistakes have their own places
  } catch (const UsageError& error) {
    fail(step, error.what());
  }
}

/// The problem of the step's op.
Problem problem_of(const FusionStep& step, const OpDefinition& definition, const Problem& fused) {
  std::vector<std::string> spec{fmt::format("dtype={}", name(fused.spec.dtype))};
  for (const auto& [attribute, value] : step.attributes) {
    const std::string* handed = fused.spec.attribute(value);
    spec.push_back(fmt::format("{}={}", attribute, handed != nullptr ? *handed : value));
  }
  std::vector<std::string> dims;
  const ProblemScope scope(fused);
  for (const auto& [dim, formula] : step.dims) dims.push_back(fmt::format("{}={}", dim, formula.integer(scope)));
  const std::string text = fmt::format("{}[{}]{{{}}}", step.op, fmt::join(spec, ","), fmt::join(dims, ","));
  try {
    return parse_problem(text, definition.interface);
  } catch (const UsageError& error) {
    fail(step, error.what());
  }
}

}  // namespace

std::vector<UnfusedStep> unfused_steps(const OpDefinition& fused, const Problem& problem, Catalogue& catalogue) {
  std::vector<UnfusedStep> steps;
  if (!fused.fusion) return steps;
  const ProblemScope scope(problem);
  for (const FusionStep& step : fused.fusion->steps) {
    if (step.when && !step.when->truth(scope)) continue;
    UnfusedStep& made = steps.emplace_back();
    made.step = &step;
    if (!step.op.empty()) {
      made.definition = &definition_of(step, catalogue);
      made.problem = problem_of(step, *made.definition, problem);
    }
    // The loader requires both costs of a step without an op.
    made.bytes = step.bytes ? step.bytes->integer(scope) : made.definition->bytes_of(*made.problem);
    made.flops = step.flops ? step.flops->integer(scope) : made.definition->flops_of(*made.problem);
  }
  return steps;
}

}  // namespace tilewright
