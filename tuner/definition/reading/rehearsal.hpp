// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tuner/definition/definition.hpp"
#include "tuner/definition/reading/mistakes.hpp"

/// Planning some launches of a definition that reads well, so that what its formulas do wrong is said when it is loaded
/// and not in the middle of a sweep. Touches no device.
namespace tilewright::reading {

/// Every dtype with the default attributes, each other value of each attribute, and all last values together: what
/// attributes do to one another shows in formulas by pairs at most, and all combinations would be too many.
[[nodiscard]] std::vector<OpSpec> specs_to_rehearse(const OpInterface& interface);

/// The problem with these dims, or with ones near them that are inside the op's domain; nothing where none is found.
[[nodiscard]] std::optional<Problem> problem_to_rehearse(const OpInterface& interface, const OpSpec& spec,
                                                         std::span<const std::int64_t> dims);

/// Checks that some dims are inside the op's domain, for every dtype and attribute; of definitions whose [op] reads
/// well.
void rehearse_domain(const OpDefinition& definition, Mistakes& mistakes);

/// Reads the base config and checks that it can be the op's fallback: of the space, nothing specialised, and legal for
/// dims of 1, odd ones and huge ones (inside the op's domain), every dtype and attribute, on the least GPU that is
/// supported, with addresses aligned as callers must give them. `is_plannable` tells whether an implementation was
/// read without mistakes; where one was not, it may be the base's.
[[nodiscard]] Config read_base(const Node& text, const OpDefinition& definition, const std::vector<bool>& is_plannable,
                               Mistakes& mistakes);

/// Plans configs of `implementation`, each value of each parameter once, for a few problems: a division by zero or an
/// overflow is a mistake of the definition.
void rehearse(const OpDefinition& definition, const Implementation& implementation, Mistakes& mistakes);

/// Evaluates all samples for a few problems, formulas of elements at the edges: what cannot be evaluated or made, and a
/// pitch that is less than a row, are mistakes. For definitions whose [op] reads well.
void rehearse_samples(const OpDefinition& definition, Mistakes& mistakes);

}  // namespace tilewright::reading
