// SPDX-License-Identifier: Apache-2.0
#include "tuner/verify/layout.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tilewright {

TensorLayout::TensorLayout(std::int64_t cols, std::vector<StrideStep> steps)
    : cols_(cols), steps_(std::move(steps)), elements_(cols) {
  for (std::size_t i = steps_.size(); i-- > 0;) {
    elements_ *= steps_[i].extent;
    if (steps_[i].extent > 1) by_stride_.push_back(i);
  }
  if (elements_ == 0) {
    by_stride_.clear();
    return;
  }
  // Inner extents were added first and precede outer ones of equal stride.
  std::ranges::stable_sort(by_stride_, {}, [&](std::size_t i) { return steps_[i].stride; });
  span_ = cols_;
  std::int64_t dense = cols_;
  for (const std::size_t i : by_stride_) {
    const auto [extent, stride] = steps_[i];
    if (levels_.empty() && stride == dense) {
      dense *= extent;
    } else if (!levels_.empty() && stride == levels_.back().extent * levels_.back().stride) {
      levels_.back().extent *= extent;
    } else {
      levels_.push_back({extent, stride, span_});
    }
    span_ += (extent - 1) * stride;
  }
  std::ranges::reverse(by_stride_);
}

TensorLayout::Place TensorLayout::place_of(std::int64_t offset) const noexcept {
  std::array<std::int64_t, kMostStrides> indices{};
  for (const std::size_t i : by_stride_) {
    indices[i] = std::min(offset / steps_[i].stride, steps_[i].extent - 1);
    offset -= indices[i] * steps_[i].stride;
  }
  const std::int64_t within = std::min(offset, cols_ - 1);
  Place place{0, offset - within};
  for (std::size_t i = 0; i < steps_.size(); ++i) place.element = place.element * steps_[i].extent + indices[i];
  place.element = place.element * cols_ + within;
  return place;
}

std::vector<Gaps> TensorLayout::gaps_by_step() const {
  std::vector<Gaps> gaps;
  std::vector<StrideStep> outer;
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    if (level->stride > level->piece) gaps.push_back({level->extent, level->piece, level->stride, outer});
    outer.push_back({level->extent, level->stride});
  }
  return gaps;
}

}  // namespace tilewright
