// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

class CacheVerb : public CliTest {};

TEST_F(CacheVerb, tells_what_takes_the_space) {
  fill_demo_cache(cache(), 2);
  const auto tables = json_of({"cache", "info"});
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0]["summary"]["schema"], 7);
  EXPECT_EQ(tables[1]["rows"][0]["op"], "demo");
  EXPECT_EQ(tables[1]["rows"][0]["problems"], 2);
  const Outcome text = run({"cache", "info", "--cache", cache()});
  EXPECT_TRUE(contains(text.out, "Serving binaries take")) << text.out;
}

TEST_F(CacheVerb, takes_out_what_serves_nothing_and_the_sweep_goes_on) {
  use_swept_cache();
  const auto before = json_of({"query", "shift", "rows=1", "cols=64"});
  const auto told = json_of({"cache", "gc", "--dry-run"});
  const auto taken = json_of({"cache", "gc"});
  EXPECT_FALSE(told["rows"].empty());
  EXPECT_EQ(told["rows"], taken["rows"]);
  EXPECT_TRUE(json_of({"cache", "gc"})["rows"].empty());
  EXPECT_EQ(json_of({"query", "shift", "rows=1", "cols=64"}), before);
  EXPECT_EQ(run_on_ops(kSweep).code, 0);
}

TEST_F(CacheVerb, keeps_past_winners_by_any_number) {
  fill_demo_cache(cache(), 1);
  {
    Store store{std::filesystem::path(cache())};
    const WinnerRow row = store.list_winners({.op = "demo", .role = WinnerRole::best}).front();
    const ProblemKey key{row.problem, row.interface_hash, row.device.fingerprint()};
    Winner winner = row.winner;
    for (int i = 0; i < 3; ++i) {
      winner.trial = store.trial(winner.trial.id).value();
      winner.trial.measured_at += 60;
      winner.trial.id = store.put_trial(key, row.implementation_hash, winner.trial);
      store.put_winners(key, row.mode, {winner});
    }
  }
  const auto removed = [&](const std::string& kept) {
    return json_of({"cache", "gc", "--dry-run", "--past-winners", kept})["rows"];
  };
  EXPECT_NE(removed("0"), removed("100"));
  EXPECT_EQ(removed("4294967296"), removed("100"));
}

TEST_F(CacheVerb, says_what_may_be_typed) {
  fill_demo_cache(cache(), 1);
  EXPECT_TRUE(contains(run({"cache", "--cache", cache()}).err, "info or gc"));
  EXPECT_TRUE(contains(run({"cache", "gb", "--cache", cache()}).err, "gc"));
  EXPECT_EQ(run({"cache", "info", "--dry-run", "--cache", cache()}).code, 2);
  const Outcome none = run({"cache", "gc", "--cache", (folder / "none.db").string()});
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(contains(none.err, "does not exist")) << none.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "none.db"));
}

}  // namespace
}  // namespace tilewright::testing
