// SPDX-License-Identifier: Apache-2.0
#include "cache/plan/strides.hpp"

#include <limits>

namespace tilewright {

std::optional<ShortStride> short_stride(std::span<const StrideStep> steps, std::int64_t row) noexcept {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].stride < row) return ShortStride{i, row, true};
  }
  if (steps.size() <= 1) return std::nullopt;
  // There are few, so each round searches for the smallest left; of equal ones the last is the inner.
  std::uint32_t left = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) left |= std::uint32_t{steps[i].extent > 1} << i;
  std::int64_t span = row;
  while (left != 0) {
    std::size_t smallest = steps.size();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const bool is_less = smallest == steps.size() || steps[i].stride <= steps[smallest].stride;
      if ((left >> i & 1) != 0 && is_less) smallest = i;
    }
    const auto [extent, stride] = steps[smallest];
    if (stride < span) return ShortStride{smallest, span, false};
    std::int64_t way = 0;
    if (__builtin_mul_overflow(extent - 1, stride, &way) || __builtin_add_overflow(span, way, &span)) {
      span = std::numeric_limits<std::int64_t>::max();
    }
    left &= ~(std::uint32_t{1} << smallest);
  }
  return std::nullopt;
}

}  // namespace tilewright
