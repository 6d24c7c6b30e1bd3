// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tuner/app/place.hpp"
#include "tuner/report/table.hpp"

/// The content of a cache, one row for each op, dtype and device.
namespace tilewright::app {

struct SummaryRequest {
  Place place;
  /// See choose_devices(); empty: all.
  std::string device;
  /// nullopt: all.
  std::optional<MeasureMode> mode;
};

/// Throws UsageError for a device that the cache does not have, CacheError if the cache cannot be read.
[[nodiscard]] Table summary(const SummaryRequest& request);

}  // namespace tilewright::app
