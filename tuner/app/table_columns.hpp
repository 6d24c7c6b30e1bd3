// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tuner/app/table.hpp"
#include "tuner/definition/definition.hpp"

/// The columns that the tables of an op have whatever their rows are.
namespace tilewright::app {

/// Those of a table of some rows: dims, attributes, and the parameters of `implementations`, which may be empty.
[[nodiscard]] std::vector<Column> columns_of(View view, const OpInterface& interface,
                                             const std::vector<Implementation>& implementations);

}  // namespace tilewright::app
