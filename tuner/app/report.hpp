// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "tuner/app/place.hpp"
#include "tuner/report/page.hpp"

/// The data of a cache's report page (docs/tables.md).
namespace tilewright::app {

struct ReportRequest {
  Place place;
  /// Empty: all ops of the cache.
  std::string op;
  /// See choose_devices(); empty: all.
  std::string device;
  /// Whether a cache without trials has a page, too.
  bool may_be_empty = false;
};

struct Report {
  Page page;
  std::size_t problems_served = 0;
  std::size_t trials = 0;
};

/// Reports the cache as it is at one moment, also while a sweep writes it. Throws UsageError for an op or a device that
/// it does not have, Error if there is no trial to show, unless `may_be_empty`.
[[nodiscard]] Report report(const ReportRequest& request);

}  // namespace tilewright::app
