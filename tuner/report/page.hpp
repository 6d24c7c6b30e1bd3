// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tuner/report/page_data.hpp"

/// The page of a report and of a service: one script for both. CMake puts its sources, tuner/report/page/, into the
/// program.
namespace tilewright {

/// A report: one HTML file with its data, its script, its style and its charting library. It makes no network requests.
[[nodiscard]] std::string report_page(const Page& page);

/// A file of a service's page, which sends requests to the service alone.
struct PageFile {
  /// Below the service's root; empty: the page itself.
  std::string_view name;
  std::string_view type;
  std::string text;
};
[[nodiscard]] std::vector<PageFile> service_page();

}  // namespace tilewright
