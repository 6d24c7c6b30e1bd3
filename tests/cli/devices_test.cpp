// SPDX-License-Identifier: Apache-2.0
#include "cache/store/store.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

using Devices = CliTest;

const std::vector<std::string> kOnTwo{
    "sweep", "shift", "--devices", "cpu,cpu", "--budget-ms", "10", "--no-ceilings", "--shapes", "rows=1,2,3,4 cols=33"};

TEST_F(Devices, that_are_several_emulators_share_the_problems_of_a_sweep) {
  use_swept_cache();
  const Outcome outcome = run_on_ops(kOnTwo);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "4 problems in")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "cpu (2) ")) << outcome.err;
  const Store store(cache(), {.access = StoreAccess::read});
  EXPECT_GE(store.list_winners({.op = "shift", .role = WinnerRole::best}).size(), 4U);
}

TEST_F(Devices, that_are_several_end_soon_after_an_interrupt) {
  use_swept_cache();
  std::vector<std::string> many = kOnTwo;
  many.back() = "rows=1..400+1 cols=33";
  const Outcome outcome = run_on_ops(many, {.interrupt = Interrupt{" 3/400 "}});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_GT(outcome.after_interrupt.count(), 0) << outcome.err;
  EXPECT_LT(outcome.after_interrupt, under_load(std::chrono::seconds(2)));
  EXPECT_TRUE(contains(outcome.out, "Interrupted")) << outcome.out;
}

TEST_F(Devices, that_cannot_be_swept_together_are_refused_before_anything_is_opened) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> slips{
      {{"--device", "cpu", "--devices", "cpu"}, "--device and --devices exclude each other"},
      {{"--devices", "cpu,cuda:0"}, "the emulator and GPUs"},
      {{"--devices", "cuda:1,cuda,cuda:0"}, "names cuda:0 twice"},
      {{"--devices", "all,cuda:1"}, "all stands alone"},
      {{"--devices", ""}, "takes all, or a list"},
      {{"--devices", "cpu,"}, "a name is missing beside a comma"},
  };
  for (const auto& [words, text] : slips) {
    std::vector<std::string> arguments{"sweep", "shift"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Outcome outcome = run_on_ops(arguments);
    EXPECT_EQ(outcome.code, 2) << text;
    EXPECT_TRUE(contains(outcome.err, text)) << outcome.err;
  }
}

TEST_F(Devices, under_load_may_have_another_winner_and_both_are_told) {
  use_swept_cache();
  std::vector<std::string> words = kSweep;
  words.insert(words.end(), {"--regime", "sustained"});
  const Outcome outcome = run_on_ops(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "sustained")) << outcome.out;
  const Outcome shown = run_on_ops({"show", "shift", "rows=2", "cols=33"});
  EXPECT_TRUE(contains(shown.out, "served: the fastest in sustained; under load:")) << shown.out;

  EXPECT_EQ(run_on_ops(kSweep).code, 0);
  EXPECT_TRUE(
      contains(run_on_ops({"show", "shift", "rows=2", "cols=33"}).out, "served: the fastest in burst; under load:"));
  words.back() = "sustaned";
  const Outcome slip = run_on_ops(words);
  EXPECT_EQ(slip.code, 2);
  EXPECT_TRUE(contains(slip.err, "sustained")) << slip.err;
}

}  // namespace
}  // namespace tilewright::testing
