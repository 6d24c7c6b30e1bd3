// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/store/transfer.hpp"
#include "tuner/report/table.hpp"

/// What export and import did, a line an op and device.
namespace tilewright::cli {

enum class TransferColumns { exported, imported };

[[nodiscard]] Table transfer_table(std::string title, const std::vector<Transferred>& done, TransferColumns columns);

}  // namespace tilewright::cli
