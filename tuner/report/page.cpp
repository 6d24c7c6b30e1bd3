// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/page.hpp"

#include <initializer_list>
#include <stdexcept>
#include <utility>

#include "cache/base/ascii.hpp"
#include "tuner/report/page_sources.hpp"

namespace tilewright {
namespace {

constexpr std::string_view kFilePolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";
constexpr std::string_view kServicePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'";

/// JSON for a script element: no text in it can end the element or begin a comment.
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

std::string page_with(std::initializer_list<std::pair<std::string_view, std::string_view>> parts) {
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

std::string element(std::string_view tag, std::string_view text, std::string_view attributes = "") {
  return std::string("<").append(tag).append(attributes).append(">\n").append(text).append("\n</").append(tag) + ">\n";
}

std::string script() { return "\"use strict\";\n" + std::string(page_sources::kScript); }

}  // namespace

std::string report_page(const Page& page) {
  std::string scripts = element("script", page_sources::kLibrary);
  scripts += element("script", script_json(page.index), R"( type="application/json" id="index")");
  for (const auto& [name, bytes] : page.blocks) {
    scripts += element("script", base64(bytes), " type=\"application/octet-stream\" id=\"" + name + '"');
  }
  scripts += element("script", script());
  return page_with(
      {{"{{policy}}", kFilePolicy}, {"{{style}}", element("style", page_sources::kStyle)}, {"{{scripts}}", scripts}});
}

std::vector<PageFile> service_page() {
  return {{"", "text/html; charset=utf-8",
           page_with({{"{{policy}}", kServicePolicy},
                      {"{{style}}", "<link rel=\"stylesheet\" href=\"page.css\">\n"},
                      {"{{scripts}}", "<script src=\"echarts.js\"></script>\n<script src=\"page.js\"></script>\n"}})},
          {"page.css", "text/css; charset=utf-8", std::string(page_sources::kStyle)},
          {"echarts.js", "text/javascript; charset=utf-8", std::string(page_sources::kLibrary)},
          {"page.js", "text/javascript; charset=utf-8", script()}};
}

}  // namespace tilewright
