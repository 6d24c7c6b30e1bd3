// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cache/model/formula/lexer.hpp"
#include "cache/model/formula/source_text.hpp"
#include "cache/model/formula/syntax.hpp"

/// From a formula's tokens to its tree, by precedence climbing. Finds mistakes that do not depend on the values of
/// names: structure, unknown functions, number of operands, text outside a comparison.
namespace tilewright {

/// Throws DefinitionError with the place of the first mistake. A tree is at most 200 nodes deep, so that its evaluation
/// fits any stack.
[[nodiscard]] Syntax parse_formula(const SourceText& source, const std::vector<Token>& tokens);

}  // namespace tilewright
