// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

class ReportVerb : public CliTest {
 protected:
  ReportVerb() { fill_demo_cache(cache(), 3); }

  [[nodiscard]] std::string file() const { return (folder / "report.html").string(); }
  /// The index of the page.
  [[nodiscard]] nlohmann::json index() const {
    const std::string page = read_file(file());
    const std::string begin = R"(<script type="application/json" id="index">)";
    const std::size_t from = page.find(begin) + begin.size();
    return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
  }
};

TEST_F(ReportVerb, writes_one_page_and_says_what_it_holds) {
  const Outcome outcome = run_on_ops({"report", "-o", file()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "3 problems served and 3 trials")) << outcome.out;
  const auto page = index();
  EXPECT_EQ(page["ops"][0], "demo");
  EXPECT_EQ(page["kinds"][0]["problems"], 3);
  EXPECT_TRUE(contains(page["notes"][0], "--ops DIR")) << page["notes"];
}

TEST_F(ReportVerb, of_one_op_or_device_has_no_other) {
  use_swept_cache();
  EXPECT_EQ(run_on_ops({"report", "shift", "--device", "cpu", "-o", file()}).code, 0);
  const auto page = index();
  EXPECT_EQ(page["ops"], nlohmann::json({"shift"}));
  EXPECT_EQ(page["devices"].size(), 1U);
  EXPECT_GE(page["sweeps"].size(), 1U);
  EXPECT_TRUE(contains(page["notes"].dump(), "they say nothing about a GPU"));
}

TEST_F(ReportVerb, needs_a_file_and_an_op_that_the_cache_has) {
  EXPECT_EQ(run_on_ops({"report"}).code, 2);
  const Outcome unknown = run_on_ops({"report", "demmo", "-o", file()});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(contains(unknown.err, "did you mean 'demo'?")) << unknown.err;
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(ReportVerb, leaves_what_was_there_when_the_disk_is_full) {
  std::ofstream(file()) << "older";
  const Outcome outcome = run_on_ops({"report", "-o", file()}, {.most_file_bytes = 100'000});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "cannot write " + file() + ": there is no room for it in " + folder.string()))
      << outcome.err;
  EXPECT_EQ(read_file(file()), "older");
}

TEST_F(ReportVerb, replaces_no_cache) {
  const std::string before = read_file(cache());
  const Outcome own = run_on_ops({"report", "-o", cache()});
  EXPECT_EQ(own.code, 2);
  EXPECT_TRUE(contains(own.err, "is the cache that is read")) << own.err;
  EXPECT_EQ(read_file(cache()), before);
  const std::string other = (folder / "other.db").string();
  std::filesystem::copy_file(cache(), other);
  const Outcome another = run_on_ops({"report", "-o", other});
  EXPECT_EQ(another.code, 2);
  EXPECT_TRUE(contains(another.err, "is an SQLite database")) << another.err;
  EXPECT_EQ(read_file(other), before);
}

TEST_F(ReportVerb, goes_to_standard_output_and_where_links_lead) {
  const Outcome shown = run_on_ops({"report", "-o", "-"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_TRUE(contains(shown.out.substr(0, 15), "<!")) << shown.out.substr(0, 15);
  EXPECT_TRUE(contains(shown.err, "3 problems served and 3 trials")) << shown.err;
  EXPECT_FALSE(std::filesystem::exists("-"));

  const std::filesystem::path link = folder / "link.html";
  std::filesystem::create_symlink("report.html", link);
  EXPECT_EQ(run_on_ops({"report", "-o", link.string()}).code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_regular_file(file()));
}

TEST_F(ReportVerb, of_a_cache_that_is_not_there_writes_nothing) {
  const Outcome outcome = run({"report", "-o", file(), "--cache", (folder / "none.db").string()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

}  // namespace
}  // namespace tilewright::testing
