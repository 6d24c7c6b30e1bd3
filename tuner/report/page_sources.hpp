// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The files of tuner/report/page/, as built into the program.
namespace tilewright::page_sources {

/// page.html, with places for {{policy}}, {{style}} and {{scripts}}.
extern const std::string_view kPage;
extern const std::string_view kStyle;
/// The modules, concatenated.
extern const std::string_view kScript;
/// Apache ECharts, as published.
extern const std::string_view kLibrary;

}  // namespace tilewright::page_sources
