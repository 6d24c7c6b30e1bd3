// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cache/plan/strides.hpp"
#include "tuner/device/gaps.hpp"

/// The layout of a tensor's elements in memory: rows (the last extent) at steps that do not let them overlap. Offsets
/// count elements from the address. A value.
namespace tilewright {

class TensorLayout {
 public:
  TensorLayout() : TensorLayout(1, {}) {}
  /// A row has `cols` elements. `steps` follow the extents, slowest first, and must pass short_stride().
  TensorLayout(std::int64_t cols, std::vector<StrideStep> steps);

  [[nodiscard]] std::int64_t elements() const noexcept { return elements_; }
  /// From the first element to past the last.
  [[nodiscard]] std::int64_t span() const noexcept { return span_; }
  [[nodiscard]] std::int64_t gaps() const noexcept { return span_ - elements_; }
  [[nodiscard]] bool in_gap(std::int64_t offset) const noexcept { return place_of(offset).behind > 0; }
  /// The row-major index of the element at an offset; in a gap, of the last element before it in memory.
  [[nodiscard]] std::int64_t element(std::int64_t offset) const noexcept { return place_of(offset).element; }
  [[nodiscard]] const std::vector<StrideStep>& steps() const noexcept { return steps_; }

  /// All gaps, grouped by step.
  [[nodiscard]] std::vector<Gaps> gaps_by_step() const;

 private:
  struct Place {
    std::int64_t element = 0;
    /// The number of elements past the end of a row; 0 within it.
    std::int64_t behind = 0;
  };
  [[nodiscard]] Place place_of(std::int64_t offset) const noexcept;

  /// A step over pieces: `piece` elements without gaps or with the gaps of smaller levels.
  struct Level {
    std::int64_t extent = 1;
    std::int64_t stride = 0;
    std::int64_t piece = 0;
  };

  std::int64_t cols_;
  std::vector<StrideStep> steps_;
  /// Indices in `steps_` of the steps with an extent above one, largest stride first.
  std::vector<std::size_t> by_stride_;
  /// Smallest stride first. Steps without gaps are merged into the next level's piece.
  std::vector<Level> levels_;
  std::int64_t elements_ = 0;
  std::int64_t span_ = 0;
};

}  // namespace tilewright
