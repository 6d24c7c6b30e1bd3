// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cache/store/store.hpp"

/// Writes winners as a C++ header, for applications that want no files at run time: the binaries, and the launch of the
/// kernels for each shape, as constant data with a constexpr lookup. Untuned shapes are not served, since no formula is
/// evaluated at run time. A program may have several headers, each in a source of its own where they share an op with
/// its dtype and attributes. docs/guide.md shows a launch.
namespace tilewright {

struct HeaderCounts {
  std::size_t shapes = 0;
  std::size_t binaries = 0;
  /// The shapes left out, each with the reason.
  std::vector<std::string> left_out;
  /// Spares of these ops, dtypes and attributes. They serve untuned shapes, so they are not in the header.
  std::size_t spares = 0;
};

/// The header's text for the winners of one device: a namespace for each op, dtype and attributes, with
/// `find(dims...)`. A shape gets the first of its winners that can be written: with a stored binary, and a grid that
/// depends on the device at most as `min(grid, per_resident × what fits on the device at once)`. `winners` are ordered
/// as by Store::list_winners(). The same winners give the same text. Throws CacheError, and UsageError unless all are
/// of one GPU.
[[nodiscard]] std::string header_text(const Store& store, const std::vector<WinnerRow>& winners, HeaderCounts& counts);

}  // namespace tilewright
