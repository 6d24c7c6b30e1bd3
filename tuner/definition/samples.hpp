// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cache/plan/plan.hpp"
#include "cache/plan/strides.hpp"
#include "tuner/definition/definition.hpp"

/// What the tuner passes for the scalars of a problem, strides among them: the values of [op.sample]. Pure.
namespace tilewright {

using SampleValue = std::variant<std::int64_t, double>;

/// The value of the scalar `name`; 0 where the definition has none. Throws DefinitionError when its formula cannot be
/// evaluated.
[[nodiscard]] SampleValue scalar_sample(const OpDefinition& definition, const std::string& name,
                                        const Problem& problem);

/// The strides of each of `args`, which are from plan_args; none of a dense tensor and of a scalar. Throws
/// DefinitionError for a stride with which elements would overlap.
[[nodiscard]] std::vector<std::vector<StrideStep>> sample_strides(const OpDefinition& definition,
                                                                  const Problem& problem,
                                                                  std::span<const PlannedArg> args);

}  // namespace tilewright
