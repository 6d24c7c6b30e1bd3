// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tuner/report/packed.hpp"

/// The page of a report: one HTML file that holds its data, its script, its style and its charting library, and asks no
/// network for anything. Its sources are in tuner/report/page/, put into the program by CMake.
namespace tilewright {

/// The whole file.
[[nodiscard]] std::string report_page(const PageJson& data);

}  // namespace tilewright
