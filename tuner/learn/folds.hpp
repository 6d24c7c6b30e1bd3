// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <vector>

#include "cache/predict/nearest.hpp"

namespace tilewright {

/// The folds of a cross-validation. Learning is too slow to repeat it for each judged shape, so shapes share folds: the
/// model of a fold is learned without all shapes that any shape of the fold leaves out. Shapes that leave out the same
/// share a fold while it stays small; others are spread. Immutable, for any thread.
class Folds {
 public:
  using LeavesOut = std::function<bool(const ShapeDims& other)>;

  /// Makes at most `most` folds, and one if `judged` is empty. `tuned`: all shapes to learn from. `leaves_out` returns
  /// for a judged shape whether it leaves out a tuned one.
  Folds(const std::vector<ShapeDims>& judged, const std::vector<ShapeDims>& tuned,
        const std::function<LeavesOut(const ShapeDims& shape)>& leaves_out, std::size_t most);

  [[nodiscard]] std::size_t count() const noexcept { return left_out_.size(); }
  /// The fold of judged[at].
  [[nodiscard]] std::size_t of(std::size_t at) const { return fold_of_.at(at); }
  /// The shapes that the fold's model is learned without.
  [[nodiscard]] const std::set<ShapeDims>& left_out(std::size_t fold) const { return left_out_.at(fold); }

 private:
  std::vector<std::set<ShapeDims>> left_out_;
  std::vector<std::size_t> fold_of_;
};

}  // namespace tilewright
