// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

/// The places of a tensor's rows (its last extent): each stride steps over rows, or over the span of smaller strides.
/// Stateless functions.
namespace tilewright {

/// Most extents of a tensor besides its row.
inline constexpr std::size_t kMostStrides = 7;

struct StrideStep {
  std::int64_t extent = 1;
  /// In elements.
  std::int64_t stride = 0;
};

struct ShortStride {
  std::size_t index = 0;
  /// Its least legal value.
  std::int64_t least = 0;
  /// True: less than a row; false: less than the span that it steps over.
  bool below_row = false;
};

/// The first stride that makes elements overlap: less than a row, or, in the order of size, less than the span of the
/// smaller strides. A stride over an extent of 1 is judged by the row alone. nullopt if there is none. At most
/// kMostStrides steps. Allocates nothing.
[[nodiscard]] std::optional<ShortStride> short_stride(std::span<const StrideStep> steps, std::int64_t row) noexcept;

}  // namespace tilewright
