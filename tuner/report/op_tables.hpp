// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/definition/definition.hpp"
#include "tuner/report/table.hpp"

/// Tables of an op, for callers and for tuning.
namespace tilewright {

/// One record: dims, types, attributes, base, bytes and flops.
[[nodiscard]] Table op_table(const OpDefinition& definition);
/// One row for each argument, in the order of a call.
[[nodiscard]] Table arguments_table(const OpDefinition& definition);
/// One row for each parameter of each implementation.
[[nodiscard]] Table parameters_table(const OpDefinition& definition);

/// "act=none|relu layout=nt|nn"; empty if there are none.
[[nodiscard]] std::string attributes_text(const OpInterface& interface);
/// "f32, f16, bf16"
[[nodiscard]] std::string dtypes_text(const OpInterface& interface);

}  // namespace tilewright
