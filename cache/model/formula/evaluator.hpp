// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cache/model/formula/formula.hpp"
#include "cache/model/formula/source_text.hpp"
#include "cache/model/formula/syntax.hpp"

/// The value of a formula's tree in a scope. Keeps nothing, allocates only for text.
namespace tilewright {

/// Both throw DefinitionError with the place of the operator, function or name at fault.
[[nodiscard]] Value evaluate_value(const SourceText& source, const Syntax& syntax, const Scope& scope);
/// As above, and for a formula that gives text.
[[nodiscard]] std::int64_t evaluate_number(const SourceText& source, const Syntax& syntax, const Scope& scope);

}  // namespace tilewright
