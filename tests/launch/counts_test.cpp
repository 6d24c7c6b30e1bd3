// SPDX-License-Identifier: Apache-2.0
// A launcher's counts and log, and the winners that serve if no cache is named.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using namespace tilewright::testing;

class CountsTest : public LaunchFixture {
 protected:
  ~CountsTest() override {
    for (const char* const name : {"TILEWRIGHT_LOG", "TILEWRIGHT_WINNERS", "TILEWRIGHT_CACHE"}) ::unsetenv(name);
  }
  [[nodiscard]] std::string log() const {
    std::ifstream file(folder_.path() / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void log_to_file() const { ::setenv("TILEWRIGHT_LOG", (folder_.path() / "log").c_str(), 1); }
  static void launch(const Op& scale, std::int64_t rows) {
    scale(nullptr, {rows, 64}, fake_address(256), fake_address(256), 1.0);
  }
};

TEST_F(CountsTest, each_shape_counts_once_by_how_well_it_is_served) {
  const Launcher launcher(filled_cache());
  const Op scale = launcher.op("scale[dtype=f16]");
  EXPECT_EQ(launcher.counts().exact + launcher.counts().nearest, 0U);
  for (int i = 0; i < 3; ++i) launch(scale, 8);
  launch(scale, 9);
  failure(TW_ERROR_NO_MATCH, [&] { launcher.op("scale[dtype=f32]").preload({8, 64}); });
  static_cast<void>(scale.match({10, 64}));
  const AnswerCounts counts = launcher.counts();
  EXPECT_EQ(counts.exact, 1U);
  EXPECT_EQ(counts.nearest + counts.base_default, 1U);
  EXPECT_EQ(counts.none, 1U);
}

TEST_F(CountsTest, the_log_has_a_line_an_answer_and_none_for_a_known_shape) {
  log_to_file();
  const Launcher launcher(filled_cache());
  const Op scale = launcher.op("scale[dtype=f16]");
  for (int i = 0; i < 3; ++i) launch(scale, 8);
  failure(TW_ERROR_NO_MATCH, [&] { launcher.op("scale[dtype=f32]").preload({8, 64}); });
  const std::string lines = log();
  EXPECT_EQ(std::ranges::count(lines, '\n'), 3) << lines;
  EXPECT_THAT(
      lines, AllOf(ContainsRegex("^20[0-9-]+T[0-9:]+Z tilewright.[0-9]+. opened the cache "),
                   HasSubstr("scale[dtype=f16,round=no]{rows=8,cols=64}: exact, fresh"), HasSubstr(", tuned for scale"),
                   HasSubstr("scale[dtype=f32,round=no]{rows=8,cols=64}: none"), HasSubstr("make them with")));
}

TEST_F(CountsTest, a_log_that_cannot_be_written_is_in_nobodys_way) {
  ::setenv("TILEWRIGHT_LOG", "/nonexistent/folder/log", 1);
  const Launcher launcher(filled_cache());
  EXPECT_NO_THROW(launch(launcher.op("scale[dtype=f16]"), 8));
}

TEST_F(CountsTest, shipped_winners_serve_where_no_cache_is_named) {
  const std::string shipped = filled_cache();
  ::setenv("XDG_CACHE_HOME", (folder_.path() / "home").c_str(), 1);
  ::unsetenv("TILEWRIGHT_CACHE");
  ::setenv("TILEWRIGHT_WINNERS", shipped.c_str(), 1);
  log_to_file();
  const ServedConfig served = Launcher().op("scale[dtype=f16]").match({8, 64});
  EXPECT_EQ(served.cache, shipped);
  EXPECT_THAT(log(), HasSubstr("as the fallback: "));
  EXPECT_NO_THROW(Launcher(LaunchOptions{.device = "cpu"}));
  // A named cache is not replaced by them.
  failure(TW_ERROR_CACHE, [] { Launcher("/nonexistent/cache.db"); });
  ::setenv("TILEWRIGHT_CACHE", "/nonexistent/cache.db", 1);
  failure(TW_ERROR_CACHE, [] { Launcher(); });
  ::unsetenv("TILEWRIGHT_CACHE");
  ::setenv("TILEWRIGHT_WINNERS", "off", 1);
  failure(TW_ERROR_CACHE, [] { Launcher(); });
}

}  // namespace
}  // namespace tilewright
