// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "tuner/app/place.hpp"
#include "tuner/report/page.hpp"

/// The cache as pictures: the data of its page (docs/tables.md).
namespace tilewright::app {

struct ReportRequest {
  Place place;
  /// Empty: all that the cache has.
  std::string op;
  /// As choose_devices() takes it; empty: all.
  std::string device;
  /// A cache without trials has a page, too.
  bool may_be_empty = false;
};

struct Report {
  Page page;
  std::size_t problems_served = 0;
  std::size_t trials = 0;
};

/// The cache as it is at one moment, also while a sweep writes it. Throws UsageError for an op or a device that it does
/// not have, Error where there is no trial to show, unless that may be.
[[nodiscard]] Report report(const ReportRequest& request);

}  // namespace tilewright::app
