// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cache/store/store.hpp"

/// The measured bounds of all kernels on a device: copies of memory, and rates of computing (docs/measuring.md).
namespace tilewright {

/// The least time in which so many bytes were seen to move, by size. A copy of more bytes bounds one of fewer, and one
/// that writes a larger part bounds one that writes a smaller; between two sizes the time is a straight line. A value.
class CopyCurve {
 public:
  CopyCurve() = default;
  /// A curve of copies of one device and mode; those that read more than `reads` bytes for each one written do not
  /// count.
  CopyCurve(const std::vector<Ceiling>& copies, int reads);

  /// Nothing unless a copy of so many bytes was measured, or one of fewer and one of more, either within a factor of 2.
  [[nodiscard]] std::optional<double> nanoseconds(std::int64_t bytes) const;

 private:
  /// Measured sizes, and of these the ones that no larger copy outruns, by bytes.
  std::vector<std::int64_t> measured_;
  std::vector<std::pair<std::int64_t, double>> fastest_;
};

/// The ceilings of a cache, each device's read once. Not for several threads; the store must outlive it.
class Ceilings {
 public:
  explicit Ceilings(const Store& store) : store_(store) {}

  /// The ceiling of these bytes and this ratio, from the curve.
  [[nodiscard]] std::optional<Ceiling> copy(const std::string& fingerprint, std::int64_t bytes, int reads,
                                            MeasureMode mode);
  /// The rate of the unit, or of fp32 where that one was not measured.
  [[nodiscard]] std::optional<ComputeRate> rate(const std::string& fingerprint, std::string_view unit);

 private:
  const Store& store_;
  std::map<std::tuple<std::string, MeasureMode, int>, CopyCurve> curves_;
  std::map<std::pair<std::string, std::string>, std::optional<ComputeRate>> rates_;
};

}  // namespace tilewright
