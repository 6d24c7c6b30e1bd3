// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cache/plan/strides.hpp"
#include "tuner/device/gaps.hpp"

/// The layout of a tensor's elements in memory: rows, which are the last extent, at steps that do not let them overlap.
/// Offsets count elements from the address. A value.
namespace tilewright {

class TensorLayout {
 public:
  TensorLayout() : TensorLayout(1, {}) {}
  /// A row of `cols` elements, and the steps in the order of the extents, slowest first. short_stride() finds none.
  TensorLayout(std::int64_t cols, std::vector<StrideStep> steps);

  [[nodiscard]] std::int64_t elements() const noexcept { return elements_; }
  /// From the first element to behind the last.
  [[nodiscard]] std::int64_t span() const noexcept { return span_; }
  [[nodiscard]] std::int64_t gaps() const noexcept { return span_ - elements_; }
  [[nodiscard]] bool in_gap(std::int64_t offset) const noexcept { return place_of(offset).behind > 0; }
  /// The index in row-major order of the element at an offset; in a gap, that of the last one before it in memory.
  [[nodiscard]] std::int64_t element(std::int64_t offset) const noexcept { return place_of(offset).element; }
  [[nodiscard]] const std::vector<StrideStep>& steps() const noexcept { return steps_; }

  /// All gaps, those of each step in one.
  [[nodiscard]] std::vector<Gaps> gaps_by_step() const;

 private:
  struct Place {
    std::int64_t element = 0;
    /// Elements that it lies behind the end of a row; 0 within it.
    std::int64_t behind = 0;
  };
  [[nodiscard]] Place place_of(std::int64_t offset) const noexcept;

  /// A step over pieces without gaps, or over what smaller levels step over: `piece` elements of which are in use.
  struct Level {
    std::int64_t extent = 1;
    std::int64_t stride = 0;
    std::int64_t piece = 0;
  };

  std::int64_t cols_;
  std::vector<StrideStep> steps_;
  /// Places in `steps_` of those over more than one, the largest stride first.
  std::vector<std::size_t> by_stride_;
  /// By stride, the smallest first; those that leave no gap are part of the next one's piece.
  std::vector<Level> levels_;
  std::int64_t elements_ = 0;
  std::int64_t span_ = 0;
};

}  // namespace tilewright
