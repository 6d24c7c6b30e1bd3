// SPDX-License-Identifier: Apache-2.0
#include "tuner/device/gaps.hpp"

namespace tilewright {

void Gaps::visit(const std::function<void(std::int64_t begin, std::int64_t end)>& gap) const {
  if (pitch == row) return;
  std::int64_t sets = 1;
  for (const StrideStep& each : repeats) sets *= each.extent;
  for (std::int64_t set = 0; set < sets; ++set) {
    std::int64_t begin = 0, rest = set;
    for (const StrideStep& each : repeats) {
      begin += rest % each.extent * each.stride;
      rest /= each.extent;
    }
    for (std::int64_t r = 0; r + 1 < rows; ++r, begin += pitch) gap(begin + row, begin + pitch);
  }
}

}  // namespace tilewright
