// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/store/import.hpp"
#include "tuner/report/table.hpp"

/// The outcome of an export or import, one row for each op and device.
namespace tilewright::app {

enum class ImportColumns { exported, imported };

[[nodiscard]] Table import_table(std::string title, const std::vector<OpCounts>& done, ImportColumns columns);

}  // namespace tilewright::app
