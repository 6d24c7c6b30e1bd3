// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tuner/definition/definition.hpp"
#include "tuner/definition/reading/mistakes.hpp"

/// Plans some launches of a definition without mistakes so far, so that formula errors show at loading, not in a sweep.
/// Touches no device.
namespace tilewright::reading {

/// For each dtype: the default attributes, each other value of each attribute, and all last values together. All
/// combinations would be too many.
[[nodiscard]] std::vector<OpSpec> specs_to_rehearse(const OpInterface& interface);

/// The problem with these dims, or with dims near them inside the op's domain; nullopt if none is found.
[[nodiscard]] std::optional<Problem> problem_to_rehearse(const OpInterface& interface, const OpSpec& spec,
                                                         std::span<const std::int64_t> dims);

/// Checks for each spec to rehearse that some dims are inside the op's domain. Requires an [op] without mistakes.
void rehearse_domain(const OpDefinition& definition, Mistakes& mistakes);

/// Reads the base config and checks that it can be the op's fallback: in the space, not specialised, and legal on the
/// least supported GPU for all rehearsed specs with dims of 1, odd and huge ones (inside the op's domain), at the
/// alignment that callers must give. `is_plannable` tells which implementations were read without mistakes; the base of
/// an implementation with mistakes is not planned.
[[nodiscard]] Config read_base(const Node& text, const OpDefinition& definition, const std::vector<bool>& is_plannable,
                               Mistakes& mistakes);

/// Plans configs of `implementation` for a few problems, with each value of each parameter once. A division by zero or
/// an overflow is a mistake of the definition.
void rehearse(const OpDefinition& definition, const Implementation& implementation, Mistakes& mistakes);

/// Evaluates all samples for a few problems, element formulas at the edges. Values that cannot be evaluated or made,
/// and a pitch shorter than a row, are mistakes. Requires an [op] without mistakes.
void rehearse_samples(const OpDefinition& definition, Mistakes& mistakes);

}  // namespace tilewright::reading
