// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <set>

#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

using Timeline = CliTest;

/// The ranges that a profiler receives, by their first word.
std::map<std::string, std::set<std::string>> ranges_of(const std::filesystem::path& log) {
  std::map<std::string, std::set<std::string>> ranges;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    const std::string push = "push ";
    if (!line.starts_with(push)) continue;
    const std::string name = line.substr(push.size());
    const std::size_t space = name.find(' ');
    ranges[name.substr(0, space)].insert(space == std::string::npos ? "" : name.substr(space + 1));
  }
  return ranges;
}

TEST_F(Timeline, of_a_sweep_names_phase_problem_and_config) {
  const std::filesystem::path log = folder / "ranges";
  const Outcome outcome =
      run_on_ops({"sweep", "shift", "--device", "cpu", "--budget-ms", "5", "--no-ceilings", "--max-configs", "2",
                  "--shapes", "rows=1 cols=33"},
                 {.environment = {{"NVTX_INJECTION64_PATH", TILEWRIGHT_FAKE_PROFILER}, {"FAKE_PROFILER_LOG", log}}});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto ranges = ranges_of(log);
  for (const char* phase : {"compile", "reference", "verify", "measure", "final"}) {
    ASSERT_EQ(ranges.count(phase), 1U) << phase;
    for (const std::string& what : ranges.at(phase)) {
      EXPECT_TRUE(what.starts_with("shift[") && contains(what, "{rows=1,cols=33}")) << phase << " " << what;
    }
  }
  for (const char* phase : {"verify", "measure", "final"}) {
    for (const std::string& what : ranges.at(phase)) EXPECT_TRUE(contains(what, "} rowwise{")) << phase << " " << what;
  }
  std::size_t references = 0;
  for (const std::string& what : ranges.at("compile")) {
    EXPECT_TRUE(what.ends_with(" for cpu")) << what;
    const bool is_reference = contains(what, "} reference for");
    EXPECT_TRUE(is_reference || contains(what, "} rowwise{")) << what;
    references += is_reference ? 1 : 0;
  }
  EXPECT_EQ(references, 1U);
}

}  // namespace
}  // namespace tilewright::testing
