// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/replay.hpp"

#include "tests/unit/search/landscape.hpp"

namespace tilewright::testing::replay_test {
namespace {

/// Shapes n = 32 … of one op, whose best config changes slowly with n.
std::vector<Recording> recorded(std::size_t shapes, double noise) {
  std::vector<Recording> recordings;
  for (std::size_t s = 0; s < shapes; ++s) {
    Landscape landscape(50, 10 + 2 * s, noise, s + 21);
    Recording& recording = recordings.emplace_back();
    recording.problem = landscape.space.problem;
    recording.problem.dims = {{"n", std::int64_t{32} << s}};
    recording.device = "cpu";
    for (std::size_t i = 0; i < 50; ++i) {
      recording.trials.push_back(landscape.trial(i, 8));
      recording.trials.back().timing->launches_per_round = 100;
    }
  }
  return recordings;
}

TEST(Replay, of_exhaustive_loses_nothing_and_spends_all_of_its_time) {
  const auto recordings = recorded(3, 0.002);
  const std::vector<Replayed> results = replay(recordings, "exhaustive", {});
  ASSERT_EQ(results.size(), 3U);
  double all = 0;
  for (const Trial& trial : recordings[0].trials) all += 9 * 100 * trial.timing->median_ns;
  EXPECT_GE(results[0].measuring_ns, all * 0.999);
  for (const Replayed& result : results) {
    EXPECT_EQ(result.trials, 50U);
    EXPECT_EQ(result.loss, 0);
  }
}

TEST(Replay, of_race_is_within_one_per_cent_at_a_third_of_the_time) {
  const auto recordings = recorded(8, 0.005);
  const std::vector<Replayed> all = replay(recordings, "exhaustive", {});
  const std::vector<Replayed> results = replay(recordings, "race", {});
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_LE(results[i].loss, 0.01);
    EXPECT_LE(results[i].measuring_ns, 0.35 * all[i].measuring_ns);
    EXPECT_EQ(results[i].trials, 50U);
  }
}

TEST(Replay, of_local_and_model_learns_from_the_other_shapes_only) {
  const auto recordings = recorded(8, 0.002);
  for (const char* name : {"local", "model"}) {
    for (const Replayed& result : replay(recordings, name, {})) {
      EXPECT_LE(result.trials, 50U * 15 / 100) << name;
      EXPECT_LE(result.loss, 0.035) << name << " " << result.problem.key();
    }
  }
  // A single shape has nothing to learn from: a quarter of the configs is drawn.
  EXPECT_EQ(replay({recordings[0]}, "model", {}).front().trials, 12U);
}

TEST(Replay, is_the_same_every_time) {
  const auto recordings = recorded(4, 0.01);
  for (const std::string& name : strategy_names()) {
    const auto first = replay(recordings, name, {.seed = 3, .max_trials = 0, .bases = {}});
    const auto second = replay(recordings, name, {.seed = 3, .max_trials = 0, .bases = {}});
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(first[i].winner, second[i].winner);
      EXPECT_EQ(first[i].measuring_ns, second[i].measuring_ns);
    }
  }
}

}  // namespace
}  // namespace tilewright::testing::replay_test
