// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace tilewright {

/// In which order rows of so many bytes are put so that they fill their pages: SQLite writes what fills pages of its
/// own into these, and the rest of a row beside others, in the order of ids. A pure function; the indexes of `sizes`.
[[nodiscard]] std::vector<std::size_t> page_order(const std::vector<std::size_t>& sizes);

}  // namespace tilewright
