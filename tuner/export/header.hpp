// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cache/store/store.hpp"

/// Winners as a C++ header, for applications that want no files at run time: the binaries, and for each shape which
/// kernels are launched and how, as constant data, with a constexpr lookup. Shapes that were not tuned are not served:
/// nothing judges formulas at run time. docs/guide.md shows a launch.
namespace tilewright {

struct HeaderCounts {
  std::size_t shapes = 0;
  std::size_t binaries = 0;
  /// Shapes that are not in the header, each with the reason.
  std::vector<std::string> left_out;
  /// Spares for these ops, dtypes and attributes, which serve shapes that were not tuned and so are not in the header.
  std::size_t spares = 0;
};

/// The header's text for the winners of one device: per op, dtype and attributes a namespace with `find(dims...)`. Of
/// the winners of a shape the first is taken that can be written: with a stored binary, and a grid that depends on the
/// device at most as `min(grid, per_resident × what fits on the device at once)`. `winners` are ordered as by
/// Store::list_winners. The same winners give the same text. Throws CacheError, and UsageError when they are of several
/// devices.
[[nodiscard]] std::string header_text(const Store& store, const std::vector<WinnerRow>& winners, HeaderCounts& counts);

}  // namespace tilewright
