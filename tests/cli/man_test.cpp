// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/cli/program.hpp"
#include "tests/cli/terminal.hpp"

namespace tilewright::testing {
namespace {

class ManPages : public CliTest {
 protected:
  void SetUp() override {
    pages_ = folder / "man" / "man1";
    const Outcome outcome = run({"help", "--man", pages_.string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) written_.push_back(line);
  }

  std::filesystem::path pages_;
  std::vector<std::string> written_;
};

[[nodiscard]] bool is_on_path(const std::string& program) {
  return contains(output_of("command -v " + program), program);
}

/// Joins words by single blanks, and replaces typographic dashes by hyphens.
std::string words_of(const std::string& text) {
  std::istringstream stream(text);
  std::string result;
  for (std::string word; stream >> word;) result += word + " ";
  return result;
}

TEST_F(ManPages, are_one_for_the_program_and_one_for_each_verb) {
  EXPECT_TRUE(std::filesystem::exists(pages_ / "tilewright.1"));
  for (const char* verb : {"sweep", "query", "table", "doctor", "completion", "help"}) {
    EXPECT_TRUE(std::filesystem::exists(pages_ / fmt::format("tilewright-{}.1", verb))) << verb;
  }
  for (const std::string& page : written_) EXPECT_TRUE(std::filesystem::exists(page)) << page;
}

TEST_F(ManPages, please_the_typesetters) {
  if (!is_on_path("groff") && !is_on_path("mandoc")) GTEST_SKIP() << "there is neither groff nor mandoc";
  for (const std::string& page : written_) {
    if (is_on_path("groff")) {
      EXPECT_EQ(output_of(fmt::format("groff -ww -man -Tutf8 -rLL=78n {} >/dev/null", quoted(page))), "") << page;
    }
    // A page has no date: it would differ from build to build.
    if (is_on_path("mandoc")) {
      EXPECT_EQ(output_of(fmt::format("mandoc -Tlint -Wwarning {} | grep -v 'missing date'", quoted(page))), "")
          << page;
    }
  }
}

TEST_F(ManPages, say_what_help_says) {
  if (!is_on_path("groff")) GTEST_SKIP() << "there is no groff";
  for (const char* verb : {"sweep", "show", "doctor", "export"}) {
    const std::string page =
        words_of(output_of(fmt::format("groff -man -Tutf8 -P-c -rLL=2000n {} | sed 's/.\x08//g'",
                                       quoted((pages_ / fmt::format("tilewright-{}.1", verb)).string()))));
    std::istringstream help(run({verb, "--help"}).out);
    std::size_t compared = 0;
    for (std::string line; std::getline(help, line);) {
      // The page has these lines of the help within paragraphs; headings differ.
      if (line.rfind("  tilewright ", 0) != 0 && line.rfind("      ", 0) != 0) continue;
      if (line.find("  --") != std::string::npos) continue;
      EXPECT_TRUE(contains(page, words_of(line))) << verb << ": " << line << "\n" << page;
      ++compared;
    }
    EXPECT_GT(compared, 2U) << verb;
  }
}

TEST_F(ManPages, that_cannot_be_written_are_a_failure) {
  std::ofstream(folder / "file") << "x";
  const Outcome outcome = run({"help", "--man", (folder / "file" / "man1").string()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "making the folder ")) << outcome.err;
}

}  // namespace
}  // namespace tilewright::testing
