// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/folds.hpp"

#include <algorithm>
#include <numeric>

namespace tilewright {

Folds::Folds(const std::vector<ShapeDims>& judged, const std::vector<ShapeDims>& tuned,
             const std::function<LeavesOut(const ShapeDims& shape)>& leaves_out, std::size_t most)
    : left_out_(std::clamp<std::size_t>(judged.size(), 1, std::max<std::size_t>(most, 1))), fold_of_(judged.size()) {
  std::vector<std::vector<std::size_t>> own(judged.size());  // indices in `tuned` that each leaves out
  for (std::size_t at = 0; at < judged.size(); ++at) {
    const LeavesOut is_left_out = leaves_out(judged[at]);
    for (std::size_t i = 0; i < tuned.size(); ++i) {
      if (is_left_out(tuned[i])) own[at].push_back(i);
    }
  }
  // Shapes that leave out most come first and begin the folds; small ones fill them.
  std::vector<std::size_t> order(judged.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t at) { return own[at].size(); });
  for (const std::size_t at : order) {
    // The increase of the sum, over folds, of the squared number of left-out shapes: prefers few new shapes and small
    // folds.
    const auto cost = [&](const std::set<ShapeDims>& fold) {
      const auto is_new = [&](std::size_t i) { return !fold.contains(tuned[i]); };
      const auto more = static_cast<std::size_t>(std::ranges::count_if(own[at], is_new));
      return more * (2 * fold.size() + more);
    };
    const auto fold = std::ranges::min_element(left_out_, {}, cost);
    for (const std::size_t i : own[at]) fold->insert(tuned[i]);
    fold_of_[at] = static_cast<std::size_t>(fold - left_out_.begin());
  }
}

}  // namespace tilewright
