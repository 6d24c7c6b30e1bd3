// SPDX-License-Identifier: Apache-2.0
#include "cache/store/store.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

/// `pin` on the swept cache.
class PinVerb : public CliTest {
 protected:
  PinVerb() {
    use_swept_cache();
    const auto winners = json_of({"table", "shift"});
    problem_ = winners["rows"][0]["shape_key"];
    winner_ = winners["rows"][0]["winner"];
  }
  [[nodiscard]] nlohmann::json served() const { return json_of({"query", problem_}); }

  std::string problem_, winner_;
};

TEST_F(PinVerb, serves_anwinner_config_and_query_and_show_say_why) {
  const auto made = json_of({"pin", problem_, "--config", winner_, "--reason", "same bits as before"});
  EXPECT_EQ(made["rows"][0]["kind"], "pinned");
  EXPECT_EQ(served()["rows"][0]["winner"], winner_);
  EXPECT_TRUE(contains(served()["notes"].dump(), "same bits as before")) << served();
  EXPECT_TRUE(contains(run_on_ops({"show", problem_}).out, "same bits as before"));
  EXPECT_EQ(json_of({"pin"})["rows"].size(), 1U);
  EXPECT_EQ(run_on_ops({"pin", problem_, "--config", winner_, "--remove"}).code, 0);
  EXPECT_EQ(served()["rows"][0]["winner"], winner_);
  EXPECT_TRUE(json_of({"pin"})["rows"].empty());
}

TEST_F(PinVerb, bans_and_a_sweep_does_not_undo_it) {
  EXPECT_EQ(run_on_ops({"pin", "shift", "--ban", "--config", winner_, "--reason", "hangs"}).code, 0);
  EXPECT_TRUE(contains(run_on_ops({"query", problem_}).out, "hangs"));
  EXPECT_EQ(run_on_ops({"sweep", "shift", "--device", "cpu", "--budget-ms", "10", "--no-ceilings"}).code, 0);
  EXPECT_TRUE(contains(run_on_ops({"query", problem_}).out, "hangs"));
}

TEST_F(PinVerb, tells_of_a_pin_that_gives_way_and_who_asks_for_times_of_none) {
  EXPECT_FALSE(contains(json_of({"regret", "shift"})["notes"].dump(), "pins and bans"));
  EXPECT_EQ(run_on_ops({"pin", "shift", "--config", winner_, "--reason", "same bits"}).code, 0);
  {
    Store store(cache());
    Store::PinRow pin = store.list_pins().at(0);
    pin.pin.config.config.values.at(0).second += 1;
    pin.pin.reason = "it was good once";
    pin.pin.since += 10;
    store.put_pin(pin);
  }
  const std::string told = served()["notes"].dump();
  EXPECT_TRUE(contains(told, "it was good once, but cannot serve: it has no binary for this problem")) << told;
  EXPECT_TRUE(contains(json_of({"regret", "shift"})["notes"].dump(), "The pins and bans of shift do not count here"));
  EXPECT_TRUE(contains(json_of({"prepare", "shift", "--configs", "1"})["notes"].dump(), "The pins and bans of shift"));
}

TEST_F(PinVerb, says_what_is_wrong_and_what_to_type) {
  const auto refused = [&](const std::vector<std::string>& words, const std::string& says) {
    const Outcome outcome = run_on_ops(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, says)) << outcome.err;
  };
  refused({"pin", problem_, "--config", winner_}, "--reason TEXT");
  refused({"pin", problem_, "--reason", "x"}, "--config CONFIG");
  refused({"pin", problem_, "--config", winner_, "--reason", "a\x1b[31m"}, "control characters");
  refused({"pin", problem_, "--config", winner_, "--reason", "two\nlines"}, "a reason is one line");
  refused({"pin", problem_, "--config", winner_, "--reason", "a\ttab"}, "a reason is one line");
  refused({"pin", problem_, "--config", "none{a=1}", "--reason", "x"}, "has never tried none{a=1}");
  refused({"pin", problem_, "--config", winner_, "--remove"}, "there is no pin or ban of");
  refused({"pin", "--config", winner_}, "name the op");
  EXPECT_TRUE(json_of({"pin"})["rows"].empty()) << "nothing of it was kept";
}

}  // namespace
}  // namespace tilewright::testing
