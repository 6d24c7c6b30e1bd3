// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/page.hpp"

#include <gtest/gtest.h>

#include <regex>

namespace tilewright {
namespace {

/// What stands between the tags of the data element.
std::string data_of(const std::string& page) {
  const std::string begin = R"(<script type="application/json" id="data">)";
  const std::size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

TEST(Page, holds_its_data_and_gives_it_back_as_it_was) {
  const PageJson data{{"text", "</script><!-- <script> \xE2\x82\xAC \" \\ "}, {"number", 0.1}};
  const std::string page = report_page(data);
  EXPECT_EQ(PageJson::parse(data_of(page)), data);
}

TEST(Page, keeps_bytes_that_are_no_text_from_spoiling_it) {
  const std::string page = report_page({{"text", "a\xff"}});
  EXPECT_EQ(PageJson::parse(data_of(page))["text"], "a\xEF\xBF\xBD");
}

TEST(Page, has_every_part_in_its_place) {
  const std::string page = report_page({});
  EXPECT_EQ(page.rfind("<!DOCTYPE html>", 0), 0U);
  for (const char* mark : {"{{style}}", "{{library}}", "{{data}}", "{{script}}"}) {
    EXPECT_EQ(page.find(mark), std::string::npos) << mark;
  }
  for (const char* part : {"class WinnerTable", "summaryView", "prefers-color-scheme", "Apache Software Foundation"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

TEST(Page, asks_for_nothing_from_elsewhere) {
  const std::string page = report_page({});
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_FALSE(std::regex_search(page.substr(0, page.find("<script>")), std::regex("(src|href)=\"[^#]")));
}

}  // namespace
}  // namespace tilewright
