// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cache/model/formula/formula.hpp"
#include "cache/model/formula/source_text.hpp"
#include "cache/model/formula/syntax.hpp"

/// Evaluates a formula's tree in a scope. Stateless; allocates only for text.
namespace tilewright {

/// Both throw DefinitionError at the operator, function or name at fault.
[[nodiscard]] Value evaluate_value(const SourceText& source, const Syntax& syntax, const Scope& scope);
/// Throws also if the formula's value is text.
[[nodiscard]] std::int64_t evaluate_number(const SourceText& source, const Syntax& syntax, const Scope& scope);

}  // namespace tilewright
