// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

/// The places of a tensor's rows, which are its last extent: steps of so many elements over so many rows, or over the
/// span of smaller steps. Functions without state.
namespace tilewright {

/// Extents of a tensor beside its row.
inline constexpr std::size_t kMostStrides = 7;

struct StrideStep {
  std::int64_t extent = 1;
  /// Elements.
  std::int64_t stride = 0;
};

struct ShortStride {
  std::size_t index = 0;
  /// Its least value.
  std::int64_t least = 0;
  /// True: it is less than a row; false: than what it steps over.
  bool below_row = false;
};

/// The first stride with which elements would lie in one place: one that is less than a row, or, in the order of their
/// sizes, than all that the smaller ones go over; steps over one are judged by the row alone. Nothing: none is. At most
/// kMostStrides of them. Allocates nothing.
[[nodiscard]] std::optional<ShortStride> short_stride(std::span<const StrideStep> steps, std::int64_t row) noexcept;

}  // namespace tilewright
