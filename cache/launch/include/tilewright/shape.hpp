// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/launch_error.hpp"

/// The dims of a launch, in the definition's order, from integers of any type: `{rows, cols}`. A small value that
/// allocates nothing. The call that receives a Shape rejects a dim < 1 and a wrong number of dims.
namespace tilewright {

class Shape {
 public:
  /// The most dims of an op.
  static constexpr std::size_t kMostDims = 8;

  /// Throws LaunchError if a number is beyond 2^63-1.
  template <std::integral... Dims>
  Shape(Dims... dims) : dims_{to_dim(dims)...}, size_(sizeof...(Dims)) {  // NOLINT(google-explicit-constructor)
    static_assert(sizeof...(Dims) <= kMostDims, "an op has 8 dims at most");
  }
  /// Throws LaunchError if there are more than kMostDims.
  Shape(const std::vector<std::int64_t>& dims) : size_(dims.size()) {  // NOLINT(google-explicit-constructor)
    if (size_ > kMostDims)
      throw LaunchError(TW_ERROR_USAGE, "a shape has " + std::to_string(size_) + " dims; at most 8 are accepted");
    for (std::size_t i = 0; i < size_; ++i) dims_[i] = dims[i];
  }

  [[nodiscard]] const std::int64_t* data() const noexcept { return dims_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  template <class Dim>
  static std::int64_t to_dim(Dim dim) {
    if (std::cmp_greater(dim, std::numeric_limits<std::int64_t>::max())) {
      throw LaunchError(TW_ERROR_USAGE, "the dim " + std::to_string(dim) + " is beyond 2^63-1");
    }
    return static_cast<std::int64_t>(dim);
  }

  std::array<std::int64_t, kMostDims> dims_{};
  std::size_t size_;
};

}  // namespace tilewright
