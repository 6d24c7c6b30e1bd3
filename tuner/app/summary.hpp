// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tuner/app/place.hpp"
#include "tuner/report/table.hpp"

/// The content of a cache, in a line an op, dtype and device.
namespace tilewright::app {

struct SummaryRequest {
  Place place;
  /// As choose_devices() takes it; empty: all.
  std::string device;
  /// Nothing: all.
  std::optional<MeasureMode> mode;
};

/// Throws UsageError for a device that the cache does not have, CacheError for a cache that cannot be read.
[[nodiscard]] Table summary(const SummaryRequest& request);

}  // namespace tilewright::app
