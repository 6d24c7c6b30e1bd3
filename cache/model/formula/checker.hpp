// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "cache/model/formula/formula.hpp"
#include "cache/model/formula/source_text.hpp"
#include "cache/model/formula/syntax.hpp"

/// Formula::check: checks names and kinds (number or text) of a whole tree without values.
namespace tilewright {

[[nodiscard]] std::vector<Diagnostic> check_formula(const SourceText& source, const Syntax& syntax,
                                                    std::span<const KnownName> known);

}  // namespace tilewright
