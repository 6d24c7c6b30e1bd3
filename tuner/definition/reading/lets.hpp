// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cache/model/formula/source_text.hpp"
#include "tuner/definition/reading/names.hpp"
#include "tuner/definition/reading/vocabulary.hpp"

/// The named formulas of an implementation, `[implementation.let]`: what other formulas say with them is put in their
/// place when a definition is read, so that nothing behind the loader knows of them. Pieces remember where they stand,
/// so that a mistake inside a named formula is shown there, and not where it is used.
namespace tilewright::reading {

/// `formula` with each name of `lets` replaced by what it stands for, in parentheses. Throws DefinitionError when that
/// becomes longer than any formula needs to be.
[[nodiscard]] std::vector<FormulaPiece> inlined(const SourceText& formula, const std::map<std::string, Let>& lets);

/// Reads the table `let` of an implementation, whose parameters `vocabulary` knows already, into `vocabulary.lets`.
/// They may use each other, in any order. One that the definition itself has, no fragment, and that no formula uses is
/// a mistake.
void read_lets(const Node& implementation, Section& section, NameRegistry& names, Vocabulary& vocabulary);

}  // namespace tilewright::reading
