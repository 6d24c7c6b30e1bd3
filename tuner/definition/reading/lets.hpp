// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cache/model/formula/source_text.hpp"
#include "tuner/definition/reading/names.hpp"
#include "tuner/definition/reading/vocabulary.hpp"

/// The named formulas of an implementation, `[implementation.let]`. Reading a definition substitutes them, so nothing
/// behind the loader sees them. Pieces keep their places, so a mistake inside a named formula is shown there, not at
/// its use.
namespace tilewright::reading {

/// `formula` with each name of `lets` replaced by its formula in parentheses. Throws DefinitionError if the result is
/// longer than 10,000 characters.
[[nodiscard]] std::vector<FormulaPiece> inlined(const SourceText& formula, const std::map<std::string, Let>& lets);

/// Reads the table `let` of an implementation into `vocabulary.lets`; `vocabulary` already knows the parameters. Lets
/// may use each other in any order; more than 256 are one mistake. A let of the definition itself, not of a fragment,
/// that no formula uses is a mistake.
void read_lets(const Node& implementation, Section& section, NameRegistry& names, Vocabulary& vocabulary);

}  // namespace tilewright::reading
