// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "tuner/app/place.hpp"

/// The cache as pictures: one HTML page that needs no network (docs/tables.md).
namespace tilewright::app {

struct ReportRequest {
  Place place;
  /// Empty: all that the cache has.
  std::string op;
  /// As choose_devices() takes it; empty: all.
  std::string device;
};

struct Report {
  std::string page;
  std::size_t problems_served = 0;
  std::size_t trials = 0;
};

/// The cache as it is at one moment, also while a sweep writes it. Throws UsageError for an op or a device that it does
/// not have, Error where there is no trial to show.
[[nodiscard]] Report report(const ReportRequest& request);

}  // namespace tilewright::app
