// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/page.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tuner/report/page_sources.hpp"

namespace tilewright {
namespace {

/// JSON that may stand inside a script element: no text of it can end the element or begin a comment.
std::string script_json(const PageJson& data) {
  const std::string json = data.dump(-1, ' ', false, PageJson::error_handler_t::replace);
  std::string safe;
  safe.reserve(json.size() + json.size() / 64);
  for (const char byte : json) {
    if (byte == '<') {
      safe += "\\u003c";
    } else {
      safe += byte;
    }
  }
  return safe;
}

}  // namespace

std::string report_page(const PageJson& data) {
  const std::string json = script_json(data);
  const std::array<std::pair<std::string_view, std::string_view>, 4> parts{{{"{{style}}", page_sources::kStyle},
                                                                            {"{{library}}", page_sources::kLibrary},
                                                                            {"{{data}}", json},
                                                                            {"{{script}}", page_sources::kScript}}};
  std::string page;
  std::string_view rest = page_sources::kPage;
  for (const auto& [mark, text] : parts) {
    const std::size_t at = rest.find(mark);
    if (at == std::string_view::npos) throw std::logic_error("the page has no place for its " + std::string(mark));
    page.append(rest.substr(0, at)).append(text);
    rest.remove_prefix(at + mark.size());
  }
  return page.append(rest);
}

}  // namespace tilewright
