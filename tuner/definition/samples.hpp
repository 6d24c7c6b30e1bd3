// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cache/plan/plan.hpp"
#include "tuner/definition/definition.hpp"

/// What the tuner passes for the scalars of a problem, row pitches among them: the values of [op.sample]. Pure.
namespace tilewright {

using SampleValue = std::variant<std::int64_t, double>;

/// The value of the scalar `name`; 0 where the definition has none. Throws DefinitionError when its formula cannot be
/// evaluated.
[[nodiscard]] SampleValue scalar_sample(const OpDefinition& definition, const std::string& name,
                                        const Problem& problem);

/// The row pitch in elements of each of `args`, which are from plan_args: of a dense tensor its last extent, of a
/// scalar 0. Throws DefinitionError where a pitch is less than a row.
[[nodiscard]] std::vector<std::int64_t> sample_pitches(const OpDefinition& definition, const Problem& problem,
                                                       std::span<const PlannedArg> args);

}  // namespace tilewright
