// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace tilewright {

/// The order in which rows of these sizes fill their pages. SQLite writes the full pages of a row into pages of its
/// own, and the rest of the row beside others, in the order of ids. A pure function; returns indexes of `sizes`.
[[nodiscard]] std::vector<std::size_t> page_order(const std::vector<std::size_t>& sizes);

}  // namespace tilewright
