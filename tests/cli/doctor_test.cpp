// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

using DoctorVerb = CliTest;

nlohmann::json part(const nlohmann::json& json, const std::string& name) {
  for (const auto& row : json["rows"]) {
    if (row["part"] == name) return row;
  }
  return {{"missing", "there is no such part"}};
}

TEST_F(DoctorVerb, tells_every_part_and_what_it_found) {
  fill_demo_cache(cache(), 2);
  const auto json = json_of({"doctor"});
  for (const char* name : {"CUDA driver", "NVRTC", "C++ compiler", "ops", "cache"}) {
    EXPECT_TRUE(part(json, name).contains("found")) << name;
  }
  EXPECT_EQ(part(json, "C++ compiler")["found"], true);
  EXPECT_TRUE(contains(part(json, "ops")["what"], "shift"));
  EXPECT_TRUE(contains(part(json, "ops")["what"], "softmax"));
  EXPECT_TRUE(contains(part(json, "cache")["what"], "schema 3; 1 ops, 1 devices, 2 problems, 2 trials, 4 winners"));
  EXPECT_EQ(part(json, "cache")["where"], cache());
}

TEST_F(DoctorVerb, says_what_each_missing_part_costs) {
  const RunOptions bare{.environment = {{"TILEWRIGHT_LIBCUDA", "/nonexistent/libcuda.so.1"},
                                        {"TILEWRIGHT_NVRTC", "/nonexistent/libnvrtc.so"},
                                        {"CXX", "/nonexistent/g++"}}};
  const Outcome outcome = run_on_ops({"doctor"}, bare);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.out, "/nonexistent/libcuda.so.1")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "/nonexistent/libnvrtc.so")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "/nonexistent/g++")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "Nothing can be tuned here")) << outcome.out;
}

TEST_F(DoctorVerb, takes_a_cache_that_is_not_there_yet_for_no_fault) {
  const Outcome outcome = run_on_ops({"doctor"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(contains(outcome.out, "the first sweep makes it")) << outcome.out;
  EXPECT_FALSE(std::filesystem::exists(cache()));
}

TEST_F(DoctorVerb, finds_a_damaged_cache) {
  std::ofstream(cache()) << "this is no cache\n";
  const Outcome outcome = run_on_ops({"doctor"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.out, "is not a cache of Tilewright")) << outcome.out;
}

}  // namespace
}  // namespace tilewright::testing
