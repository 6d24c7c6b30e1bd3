// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/definition/definition.hpp"

/// Values of options that an op's definition, or the cache, tells: what completion offers behind --by, --sort,
/// --columns and --config.
namespace tilewright::cli {

/// "implementation", and all parameters of its implementations, each once.
[[nodiscard]] std::vector<std::string> parameters_of(const OpDefinition& definition);

enum class TableView { winners, all, by, compare };
/// Names of the columns that `tilewright table` has of this op, as --sort and --columns take them: of the table itself,
/// so that none is forgotten.
[[nodiscard]] std::vector<std::string> table_columns(const OpDefinition& definition, TableView view);

/// Of winners of the op, each once.
[[nodiscard]] std::vector<std::string> configs_of(const Store& store, const std::string& op);

/// What may come next of a config that is typed so far, from the op's implementations and their parameters: the whole
/// text each, which is complete where it ends in '}'.
[[nodiscard]] std::vector<std::string> config_steps(const OpDefinition& definition, const std::string& typed);

}  // namespace tilewright::cli
