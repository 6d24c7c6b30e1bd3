// SPDX-License-Identifier: Apache-2.0
// Import of spares, which serve without having won; winners: import_test.cpp.
#include <gtest/gtest.h>

#include <map>

#include "cache/store/import.hpp"
#include "tests/unit/store/import_fixture.hpp"

namespace tilewright::import_spares_test {
namespace {

using namespace store_tests;

using ImportedSpares = ImportedWinners;

TEST_F(ImportedSpares, travel_with_their_binaries_and_times) {
  put_best(from, key, evidence(from, onchip_config(4)));
  const ProblemKey other = softmax_key(16, 200);
  put_best(from, other, evidence(from, onchip_config(8)));
  // A spare that was timed only at the other shape, and one that was timed at its own, too.
  Trial untimed = evidence(from, onchip_config(1, 0));
  from.put_trial(other, "impl-1", untimed);
  from.put_spare(key, MeasureMode::cold, {"impl-1", untimed.config}, untimed.build_key);
  const Trial timed = evidence(from, onchip_config(2, 0));
  from.put_trial(key, "impl-1", timed);
  from.put_spare(key, MeasureMode::cold, {"impl-1", timed.config}, timed.build_key);
  // Neither a winner nor a spare.
  from.put_trial(key, "impl-1", evidence(from, onchip_config(16, 0)));
  import_winners(from, to);
  to.check();
  const auto known = to.known_shapes(key, MeasureMode::cold, {{8, 100}, {16, 200}});
  ASSERT_EQ(known.size(), 2U);
  std::map<std::string, ConfigSummary> here, there;
  for (const ConfigSummary& each : known[0].configs) here[each.id.config.text()] = each;
  for (const ConfigSummary& each : known[1].configs) there[each.id.config.text()] = each;
  const ConfigSummary& other_time = here.at(onchip_config(16, 0).text());
  EXPECT_TRUE(other_time.was_timed() && !other_time.has_binary && !other_time.is_spare)
      << "its time tells of its likes";
  const ConfigSummary& spare = here.at(onchip_config(1, 0).text());
  EXPECT_TRUE(spare.is_spare && spare.has_binary && !spare.was_timed());
  EXPECT_TRUE(there.at(onchip_config(1, 0).text()).was_timed());
  const ConfigSummary& both = here.at(onchip_config(2, 0).text());
  EXPECT_TRUE(both.is_spare && both.has_binary && both.was_timed());
  const auto row = to.timed(key, MeasureMode::cold, {"impl-1", onchip_config(1, 0)});
  ASSERT_TRUE(row.has_value());
  EXPECT_FALSE(row->winner.trial.timing.has_value());
  EXPECT_EQ(to.binary(to.build(row->winner.trial.build_key)->binary_hash), kBinary);
  EXPECT_TRUE(to.timed(key, MeasureMode::cold, {"impl-1", onchip_config(2, 0)})->winner.trial.timing.has_value());
}

TEST_F(ImportedSpares, are_not_needed_for_what_was_seen_of_other_configs) {
  put_best(from, key, evidence(from, onchip_config(4)));
  from.put_trial(key, "impl-1", evidence(from, onchip_config(2, 0)));
  Trial failed = evidence(from, onchip_config(8));
  from.put_trial(key, "impl-1", failed);
  failed.status = TrialStatus::wrong_result;
  failed.timing.reset();
  failed.measured_at += 1;
  from.put_trial(key, "impl-1", failed);
  for (int time = 0; time < 2; ++time) {
    import_winners(from, to);
    to.check();
    std::map<std::string, ConfigSummary> here;
    const auto known = to.known_shapes(key, MeasureMode::cold, {{8, 100}});
    for (const ConfigSummary& each : known.at(0).configs) here[each.id.config.text()] = each;
    const ConfigSummary& timed = here.at(onchip_config(2, 0).text());
    EXPECT_TRUE(timed.was_timed() && !timed.has_binary) << "a model learns from it";
    EXPECT_TRUE(here.at(onchip_config(8).text()).has_failed) << "no model may propose it";
    EXPECT_EQ(to.counts().trials, 3) << "once";
  }
}

TEST_F(ImportedSpares, are_not_needed_where_the_better_winner_stays_in_either_order) {
  const auto outcome = [&](const std::string& name, bool reversed) {
    Store into(folder / name);
    Store other = prepared_store(folder / (name + "-other"));
    put_best(other, key, evidence(other, onchip_config(8), 0.001));
    Trial failed = full_trial(onchip_config(2));
    failed.status = TrialStatus::wrong_result;
    failed.timing.reset();
    failed.measured_at = 2000;
    failed.build_key.clear();
    other.put_trial(key, "impl-1", failed);
    import_winners(reversed ? other : from, into);
    import_winners(reversed ? from : other, into);
    into.check();
    std::map<std::string, std::pair<bool, bool>> known;
    const auto shapes = into.known_shapes(key, MeasureMode::cold, {{8, 100}});
    for (const ConfigSummary& each : shapes.at(0).configs) {
      known[each.id.config.text()] = {each.was_timed(), each.has_failed};
    }
    return known;
  };
  put_best(from, key, evidence(from, onchip_config(4), 0.1));
  for (const auto& [when, has_failed] : std::map<std::int64_t, bool>{{1000, true}, {3000, false}}) {
    Trial timed = full_trial(onchip_config(2));
    timed.measured_at = when;
    timed.build_key.clear();
    from.put_trial(key, "impl-1", timed);
    const std::string name = has_failed ? "earlier" : "later";
    const auto known = outcome(name, false);
    EXPECT_EQ(known.at(onchip_config(2).text()), std::pair(!has_failed, has_failed)) << "the later of both counts";
    EXPECT_TRUE(known.at(onchip_config(4).text()).first) << "what did not win is known";
    EXPECT_EQ(outcome(name + "-reversed", true), known);
  }
}

TEST_F(ImportedSpares, of_a_snapshot_come_with_failures_alone) {
  put_best(from, key, evidence(from, onchip_config(4)));
  from.put_trial(key, "impl-1", evidence(from, onchip_config(2, 0)));
  Trial failed = full_trial(onchip_config(8));
  failed.status = TrialStatus::crashed;
  failed.timing.reset();
  from.put_trial(key, "impl-1", failed);
  import_winners(from, to, {.thin = true});
  const auto known = to.known_shapes(key, MeasureMode::cold, {{8, 100}});
  std::map<std::string, ConfigSummary> here;
  for (const ConfigSummary& each : known.at(0).configs) here[each.id.config.text()] = each;
  EXPECT_EQ(here.size(), 2U);
  EXPECT_TRUE(here.at(onchip_config(8).text()).has_failed) << "a launcher that compiles must not propose it";
}

TEST_F(ImportedSpares, come_to_winners_that_are_there) {
  put_best(from, key, evidence(from, onchip_config(4)));
  import_winners(from, to);
  // Prepared since then; the target knows the time of one.
  const Trial timed = evidence(from, onchip_config(2, 0));
  from.put_trial(key, "impl-1", timed);
  from.put_spare(key, MeasureMode::cold, {"impl-1", timed.config}, timed.build_key);
  from.put_spare(key, MeasureMode::cold, {"impl-1", onchip_config(1, 0)}, timed.build_key);
  Trial elsewhere = evidence(to, onchip_config(2, 0));
  elsewhere.timing->median_ns = 77;
  elsewhere.build_key.clear();
  to.put_trial(key, "impl-1", elsewhere);
  EXPECT_EQ(import_winners(from, to).at(0).same, 1U);
  std::map<std::string, ConfigSummary> here;
  const auto known = to.known_shapes(key, MeasureMode::cold, {{8, 100}});
  for (const ConfigSummary& each : known.at(0).configs) here[each.id.config.text()] = each;
  const ConfigSummary& both = here.at(onchip_config(2, 0).text());
  EXPECT_TRUE(both.is_spare && both.has_binary);
  EXPECT_EQ(both.median_ns, 77) << "its own time stays";
  const ConfigSummary& spare = here.at(onchip_config(1, 0).text());
  EXPECT_TRUE(spare.is_spare && spare.has_binary && !spare.was_timed());
  EXPECT_EQ(to.winners(key, MeasureMode::cold).at(0).trial.config, onchip_config(4));
  const auto trials = to.counts().trials;
  import_winners(from, to);
  EXPECT_EQ(to.counts().trials, trials) << "once";
  to.check();
}

TEST_F(ImportedSpares, come_to_a_winner_that_is_better_than_theirs) {
  to.put_interface(softmax_interface());
  to.put_implementation(softmax_interface().hash(), onchip());
  to.put_device(h200());
  put_best(to, key, evidence(to, onchip_config(8), 0.001));
  put_best(from, key, evidence(from, onchip_config(4), 0.1));
  const Trial timed = evidence(from, onchip_config(2, 0));
  from.put_trial(key, "impl-1", timed);
  from.put_spare(key, MeasureMode::cold, {"impl-1", timed.config}, timed.build_key);
  EXPECT_EQ(import_winners(from, to).at(0).kept, 1U);
  EXPECT_EQ(winner(to).config, onchip_config(8));
  std::map<std::string, ConfigSummary> here;
  const auto known = to.known_shapes(key, MeasureMode::cold, {{8, 100}});
  for (const ConfigSummary& each : known.at(0).configs) here[each.id.config.text()] = each;
  EXPECT_TRUE(here.at(onchip_config(2, 0).text()).is_spare);
}

}  // namespace
}  // namespace tilewright::import_spares_test
