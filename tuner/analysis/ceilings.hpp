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

/// The measured bounds of all kernels on a device: memory copies and compute rates (docs/measuring.md).
namespace tilewright {

/// The least measured time to move bytes, by size. A copy bounds copies of no more bytes and no larger share of writes.
/// Interpolates linearly between sizes. A value.
class CopyCurve {
 public:
  CopyCurve() = default;
  /// From copies of one device and mode. Copies that read more than `reads` bytes per byte written are ignored.
  CopyCurve(const std::vector<Ceiling>& copies, int reads);

  /// Nullopt unless a copy of this size was measured, or a smaller and a larger one, each within a factor of 2.
  [[nodiscard]] std::optional<double> nanoseconds(std::int64_t bytes) const;

 private:
  /// All measured sizes, and the copies that no larger copy beats, by bytes.
  std::vector<std::int64_t> measured_;
  std::vector<std::pair<std::int64_t, double>> fastest_;
};

/// The ceilings of a cache; reads each device's once. For one thread. The store must outlive it.
class Ceilings {
 public:
  explicit Ceilings(const Store& store) : store_(store) {}

  /// The ceiling for these bytes and this ratio, from the curve.
  [[nodiscard]] std::optional<Ceiling> copy(const std::string& fingerprint, std::int64_t bytes, int reads,
                                            MeasureMode mode);
  /// The rate of the unit, or of fp32 if that was not measured.
  [[nodiscard]] std::optional<ComputeRate> rate(const std::string& fingerprint, std::string_view unit);

 private:
  const Store& store_;
  std::map<std::tuple<std::string, MeasureMode, int>, CopyCurve> curves_;
  std::map<std::pair<std::string, std::string>, std::optional<ComputeRate>> rates_;
};

}  // namespace tilewright
