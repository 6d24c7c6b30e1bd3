// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "tuner/definition/reading/names.hpp"
#include "tuner/definition/reading/vocabulary.hpp"

/// The named formulas of an implementation, `[implementation.let]`: what other formulas say with them is put in their place
/// when a definition is read, so that nothing behind the loader knows of them.
namespace tilewright::reading {

/// `text` with each name of `lets` replaced by its formula in parentheses.
[[nodiscard]] std::string inlined(const std::string& text, const std::map<std::string, std::string>& lets);

/// Reads the table `let` of an implementation, whose parameters `vocabulary` knows already, into `vocabulary.lets`. They
/// may use each other, in any order. One that the section itself defines and that no formula uses is a mistake.
void read_lets(const Node& implementation, Section& section, NameRegistry& names, Vocabulary& vocabulary);

}  // namespace tilewright::reading
