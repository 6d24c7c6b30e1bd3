// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/page.hpp"

#include <gtest/gtest.h>

#include <regex>

namespace tilewright {
namespace {

/// The content of the element with an id.
std::string text_of(const std::string& page, const std::string& id) {
  const std::size_t from = page.find('>', page.find("id=\"" + id + '"')) + 1;
  return page.substr(from, page.find("</script>", from) - from);
}

TEST(Page, holds_its_index_and_gives_it_back_as_it_was) {
  const PageJson index{{"text", "</script><!-- <script> \xE2\x82\xAC \" \\ "}, {"number", 0.1}};
  EXPECT_EQ(PageJson::parse(text_of(report_page({index, {}}), "index")), index);
}

TEST(Page, holds_each_block_in_an_element_of_its_name) {
  const std::string page = report_page({{}, {{"softmax.winners", "foobar"}}});
  EXPECT_EQ(text_of(page, "softmax.winners"), "\nZm9vYmFy\n");
}

TEST(Page, keeps_bytes_that_are_no_text_from_spoiling_it) {
  EXPECT_EQ(PageJson::parse(text_of(report_page({{{"text", "a\xff"}}, {}}), "index"))["text"], "a\xEF\xBF\xBD");
}

TEST(Page, has_every_part_in_its_place) {
  const std::string page = report_page({});
  EXPECT_EQ(page.rfind("<!DOCTYPE html>", 0), 0U);
  for (const char* mark : {"{{policy}}", "{{style}}", "{{scripts}}"}) {
    EXPECT_EQ(page.find(mark), std::string::npos) << mark;
  }
  for (const char* part : {"class WinnerTable", "summaryView", "prefers-color-scheme", "Apache Software Foundation"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

TEST(Page, asks_for_nothing_from_elsewhere) {
  const std::string page = report_page({});
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_FALSE(std::regex_search(page.substr(0, page.find("<script>")), std::regex("(src|href)=\"(?!#|data:)")));
}

TEST(Page, of_a_service_names_files_that_the_service_has_and_runs_no_script_of_its_own_text) {
  const std::vector<PageFile> files = service_page();
  const std::string& page = files.front().text;
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_EQ(page.find("<style>"), std::string::npos);
  EXPECT_NE(page.find("script-src 'self'; style-src 'self'"), std::string::npos);
  for (std::size_t i = 1; i < files.size(); ++i) {
    EXPECT_NE(page.find('"' + std::string(files[i].name) + '"'), std::string::npos) << files[i].name;
  }
  const std::string report = report_page({});
  EXPECT_NE(report.find(files.back().text), std::string::npos) << "one script for both";
}

}  // namespace
}  // namespace tilewright
