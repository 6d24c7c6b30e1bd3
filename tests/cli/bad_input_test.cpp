// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

using BadInput = CliTest;

/// A command that must exit with a code, print a text, and leave no cache behind.
struct Case {
  std::vector<std::string> words;
  std::string expected;
  int code = 2;
};

class BadInputTo : public CliTest {
 protected:
  void expect(const std::vector<Case>& cases) const {
    for (const Case& each : cases) {
      const Outcome outcome = run_on_ops(each.words);
      EXPECT_EQ(outcome.code, each.code) << outcome.err;
      EXPECT_TRUE(contains(outcome.err, each.expected)) << outcome.err;
      EXPECT_TRUE(outcome.out.empty()) << outcome.out;
      EXPECT_FALSE(std::filesystem::exists(cache())) << "a mistake made a cache: " << outcome.err;
    }
  }
};

using BadInputToSweep = BadInputTo;

TEST_F(BadInputToSweep, with_a_wrong_name_is_answered_with_the_nearest_right_one) {
  expect({
      {{"sweep", "shfit"}, "did you mean 'shift'?"},
      {{"sweep", "sofmax"}, "did you mean 'softmax'?"},
      {{"sweep", "shift", "rwos=4", "cols=3"}, "did you mean 'rows'?"},
      {{"sweep", "shift", "--shapes", "rows=4 clos=3"}, "did you mean 'cols'?"},
      {{"sweep", "shift", "--dtype", "bf61"}, "did you mean 'bf16'?"},
      {{"sweep", "shift", "--dtype", "f16"}, "f16"},
      {{"sweep", "shift", "--attr", "atc=relu"}, "did you mean 'act'?"},
      {{"sweep", "shift", "--attr", "act=rleu"}, "did you mean 'relu'?"},
      {{"sweep", "shift", "--attr", "relu"}, "--attr takes NAME=VALUE"},
      {{"sweep", "shift", "--attr", "rows=4"}, "no attribute of shift"},
      {{"sweep", "shift", "--device", "gpu"}, "'gpu' is not a device"},
      {{"sweep", "shift", "--device", "cuda:x"}, "cuda:0"},
  });
}

TEST_F(BadInputToSweep, with_dims_that_are_no_dims_says_which_and_why) {
  expect({
      {{"sweep", "shift", "rows=0", "cols=3"}, "rows"},
      {{"sweep", "shift", "rows=-5", "cols=3"}, "rows"},
      {{"sweep", "shift", "rows=four", "cols=3"}, "rows"},
      {{"sweep", "shift", "rows=9223372036854775808", "cols=3"}, "rows"},
      {{"sweep", "shift", "rows=4"}, "cols"},
      {{"sweep", "shift", "rows=", "cols=3"}, "NAME=VALUE"},
      {{"sweep", "shift", "rows"}, "NAME=VALUE"},
      {{"sweep", "shift", "rows=4", "cols=3", "rows=5"}, "rows"},
  });
}

TEST_F(BadInputToSweep, with_a_malformed_range_names_the_mistake) {
  expect({
      {{"sweep", "shift", "--shapes", "rows=4 cols=1..x2"}, "cols"},
      {{"sweep", "shift", "--shapes", "rows=4 cols=1..64"}, "cols"},
      {{"sweep", "shift", "--shapes", "rows=4 cols=64..1x2"}, "cols"},
      {{"sweep", "shift", "--shapes", "rows=4 cols=1..64x1"}, "cols"},
      {{"sweep", "shift", "--shapes", "rows=4 cols=1..64+0"}, "cols"},
      {{"sweep", "shift", "--shapes", "rows=4 cols=1,,2"}, "cols"},
      {{"sweep", "shift", "--shapes", "rows=4 cols=1..9000000000000000000+1"}, "cols"},
      {{"sweep", "shift", "--shapes", ""}, "rows"},
      {{"sweep", "shift", "--shapes-file", "/nonexistent/shapes.csv"}, "/nonexistent/shapes.csv"},
  });
}

TEST_F(BadInputToSweep, with_a_bad_line_in_a_file_of_shapes_names_the_line) {
  const std::string file = (folder / "shapes.csv").string();
  std::ofstream(file) << "cols,rows\n33,4\n33,zero\n";
  expect({{{"sweep", "shift", "--shapes-file", file}, "shapes.csv:3"}});
}

TEST_F(BadInputToSweep, with_a_folder_of_ops_that_holds_none_says_so) {
  expect({
      {{"sweep", "shift", "--ops", "/nonexistent"}, "/nonexistent"},
      {{"sweep", "shift", "--ops", folder.string()}, folder.string()},
  });
}

TEST_F(BadInputToSweep, with_dims_too_large_to_be_counted_names_the_problem) {
  expect({
      {{"sweep", "shift", "rows=4", "cols=9223372036854775807"}, "'x' of 4 x 9223372036854775807 elements is beyond"},
      {{"sweep", "shift", "rows=1048576", "cols=1099511627776"}, "choose smaller dims"},
  });
}

TEST_F(BadInputToSweep, with_dims_that_no_implementation_serves_tells_which_constraint_of_which_forbids_them) {
  const Outcome all = run_on_ops({"sweep", "picky", "rows=2", "cols=77", "--device", "cpu", "--quiet"});
  EXPECT_EQ(all.code, 1);
  EXPECT_TRUE(contains(all.err,
                       "no config of picky can serve picky[dtype=f32]{rows=2,cols=77} on cpu:\n"
                       "  rowwise: constraint `cols != 77` (2 of 2)\n"
                       "  even: constraint `cols % (2) == 0` (2 of 2)\n"))
      << all.err;
  const Outcome some =
      run_on_ops({"sweep", "picky", "rows=2", "cols=77,33", "--device", "cpu", "--budget-ms", "1", "--no-ceilings"});
  EXPECT_EQ(some.code, 3);
  EXPECT_TRUE(contains(some.err, "even: constraint `cols % (2) == 0` (2 of 2)")) << some.err;
  EXPECT_TRUE(contains(some.out, "1 problem without a winner.")) << some.out;
  EXPECT_TRUE(contains(some.out, "rowwise{")) << some.out;

  // Others could serve it.
  const Outcome one =
      run_on_ops({"sweep", "picky", "rows=2", "cols=33", "--device", "cpu", "--quiet", "--config", "even{width=32}"});
  EXPECT_EQ(one.code, 1);
  EXPECT_TRUE(contains(one.err,
                       "even{width=32} cannot serve picky[dtype=f32]{rows=2,cols=33}: constraint `cols % (2) == 0` is "
                       "false (cols=33)\nName other shapes, or another config"))
      << one.err;

  // Configs of other problems are not served for a problem where they are illegal.
  for (const char* verb : {"query", "show"}) {
    const Outcome served = run_on_ops({verb, "picky", "rows=2", "cols=35"});
    EXPECT_EQ(served.code, 0) << served.err;
    const Outcome refused = run_on_ops({verb, "picky", "rows=2", "cols=77"});
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(contains(refused.out + refused.err, "no stored config can serve it: rowwise{"))
        << refused.out << refused.err;
    EXPECT_TRUE(contains(refused.out + refused.err, ": constraint `cols != 77` is false (cols=77)"))
        << refused.out << refused.err;
    const Outcome huge = run_on_ops({verb, "picky", "rows=2", "cols=9223372036854775807"});
    EXPECT_EQ(huge.code, 2);
    EXPECT_TRUE(contains(huge.err, "choose smaller dims")) << huge.err;
  }
  const Outcome config =
      run_on_ops({"show", "picky", "rows=2", "cols=77", "--config", "rowwise{width=32}", "--arch", "cpu"});
  EXPECT_EQ(config.code, 2);
  EXPECT_TRUE(contains(config.err, "constraint `cols != 77` is false")) << config.err;
}

TEST_F(BadInput, of_a_definition_is_told_all_at_once_with_places) {
  const Outcome outcome = run({"sweep", "broken", "--ops", TILEWRIGHT_TEST_BROKEN_OPS, "--cache", cache()});
  EXPECT_EQ(outcome.code, 2);
  for (const char* mistake : {"sumary", "'m'", "sizeof(dtype", "missing.cu", "widht"}) {
    EXPECT_TRUE(contains(outcome.err, mistake)) << mistake << "\n" << outcome.err;
  }
  EXPECT_TRUE(contains(outcome.err, "broken.toml:6:")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(cache()));
}

TEST_F(BadInput, in_one_definition_does_not_hide_the_other_ops) {
  const Outcome outcome = run({"list", "--ops", TILEWRIGHT_TEST_BROKEN_OPS, "--format", "csv"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(contains(outcome.err, "broken is left out"));
  EXPECT_TRUE(contains(outcome.out, "softmax,"));
}

TEST_F(BadInput, driver_missing_is_told_with_what_to_do) {
  const RunOptions without{.environment = {{"TILEWRIGHT_LIBCUDA", "/nonexistent/libcuda.so.1"}}};
  const Outcome outcome = run_on_ops({"sweep", "shift", "--device", "cuda:0"}, without);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "/nonexistent/libcuda.so.1")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(cache()));
}

TEST_F(BadInput, nvrtc_missing_is_told_with_what_to_do) {
  const RunOptions without{.environment = {{"TILEWRIGHT_NVRTC", "/nonexistent/libnvrtc.so"}}};
  const Outcome outcome =
      run_on_ops({"show", "shift", "--config", "rowwise{variant=0,width=32}", "--arch", "sm_90a"}, without);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "NVRTC")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "/nonexistent/libnvrtc.so")) << outcome.err;
}

TEST_F(BadInput, a_host_compiler_missing_is_told_with_what_to_do) {
  const RunOptions without{.environment = {{"CXX", "/nonexistent/g++"}}};
  const Outcome outcome = run_on_ops({"sweep", "shift", "--device", "cpu"}, without);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "/nonexistent/g++")) << outcome.err;
}

TEST_F(BadInput, ops_missing_are_told_with_what_to_do) {
  const Outcome outcome = run({"list"}, {.environment = {{"TILEWRIGHT_KERNELS_DIR", "/nonexistent"}}});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "TILEWRIGHT_KERNELS_DIR")) << outcome.err;
}

}  // namespace
}  // namespace tilewright::testing
