// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tuner/report/page_data.hpp"

/// The page, of a report and of a service: one script for both. Its sources are in tuner/report/page/, put into the
/// program by CMake.
namespace tilewright {

/// A report: one HTML file that holds its data, its script, its style and its charting library, and asks no network for
/// anything.
[[nodiscard]] std::string report_page(const Page& page);

/// A file of the page as a service has it, which asks the service alone.
struct PageFile {
  /// Below the service's root; empty: the page itself.
  std::string_view name;
  std::string_view type;
  std::string text;
};
[[nodiscard]] std::vector<PageFile> service_page();

}  // namespace tilewright
