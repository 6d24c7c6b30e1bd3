// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/definition.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/error.hpp"
#include "cache/model/records.hpp"
#include "tuner/definition/costs.hpp"

namespace tilewright {

const Implementation& OpDefinition::implementation(std::string_view name) const {
  std::vector<std::string> names;
  for (const Implementation& candidate : implementations) {
    if (candidate.recipe.name == name) return candidate;
    names.push_back(candidate.recipe.name);
  }
  const std::string wanted(name);
  throw UsageError(fmt::format("{} has no implementation '{}'{}", interface.op, wanted, suggestion(wanted, names)));
}

Problem OpDefinition::followed(Problem problem) const {
  for (std::size_t i = 0; i < interface.attributes.size(); ++i) {
    const Attribute& attribute = interface.attributes[i];
    if (std::ranges::find(follows, attribute.name) == follows.end()) continue;
    problem.spec.attributes[i].second = attribute.values.front();
  }
  return problem;
}

std::int64_t OpDefinition::bytes_of(const Problem& problem) const { return cost_of(bytes, *this, problem); }

std::int64_t OpDefinition::flops_of(const Problem& problem) const { return cost_of(flops, *this, problem); }

std::string OpDefinition::unit_of(const Problem& problem) const {
  if (!tensor_cores || !tensor_cores->truth(ProblemScope(problem))) return std::string(kFp32);
  // Tensor cores read f32 as tf32.
  return fmt::format("tensor_{}", problem.spec.dtype == DType::f32 ? "tf32" : name(problem.spec.dtype));
}

Tolerance OpDefinition::tolerance_of(const Problem& problem, DType output, const std::string& argument) const {
  const ProblemScope scope(problem);
  for (const ToleranceTable& table : tolerance) {
    const auto found = table.by_argument.find(argument);
    if (found != table.by_argument.end() && (!table.when || table.when->truth(scope))) return found->second;
  }
  for (const DType type : {output, problem.spec.dtype}) {
    for (const ToleranceTable& table : tolerance) {
      const auto found = table.by_type.find(type);
      if (found != table.by_type.end() && (!table.when || table.when->truth(scope))) return found->second;
    }
  }
  return {};
}

}  // namespace tilewright
