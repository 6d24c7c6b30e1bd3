// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <vector>

#include "cache/predict/nearest.hpp"

namespace tilewright {

/// Shapes to be judged, each by what was learned without the shapes that it leaves out, where learning is too slow to
/// do it for each: in parts, each without all that its shapes leave out. Shapes that leave out the same go to one part,
/// so that as much as can be is left to learn from, as far as parts do not grow too large for it; others are spread,
/// neighbours apart.
class Parts {
 public:
  using LeavesOut = std::function<bool(const ShapeDims& other)>;

  /// At most `most` parts, and one where nothing is judged. `leaves_out` tells of a judged shape which of `tuned`, all
  /// that is learned from, it leaves out.
  Parts(const std::vector<ShapeDims>& judged, const std::vector<ShapeDims>& tuned,
        const std::function<LeavesOut(const ShapeDims& shape)>& leaves_out, std::size_t most);

  [[nodiscard]] std::size_t count() const noexcept { return left_out_.size(); }
  /// The part of judged[at].
  [[nodiscard]] std::size_t of(std::size_t at) const { return part_of_.at(at); }
  /// What a part is judged without.
  [[nodiscard]] const std::set<ShapeDims>& left_out(std::size_t part) const { return left_out_.at(part); }

 private:
  std::vector<std::set<ShapeDims>> left_out_;
  std::vector<std::size_t> part_of_;
};

}  // namespace tilewright
