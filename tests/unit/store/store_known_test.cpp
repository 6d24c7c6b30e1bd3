// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/store/store.hpp"
#include "fixture.hpp"

namespace tilewright {
namespace {

using namespace store_tests;
using testing::ElementsAre;
using testing::IsEmpty;

/// The times that are known of a shape, besides its winner's.
std::vector<double> times_at(const Store& store, const ProblemKey& key) {
  std::vector<double> times;
  for (const KnownShape& shape : store.known_shapes(key, MeasureMode::cold, {{8, 64}})) {
    for (const KnownConfig& known : shape.configs) {
      EXPECT_EQ(known.has_failed, !known.role && !known.was_timed());
      if (!known.role && !known.has_failed) times.push_back(known.median_ns);
    }
  }
  return times;
}

TEST(StoreKnown, a_time_counts_until_a_later_try_of_the_config_goes_wrong) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const ProblemKey key = softmax_key(8, 64);
  put_winner(store, key, onchip_config(8));
  const auto put = [&](TrialStatus status, double median_ns) {
    Trial trial = full_trial(onchip_config(4), median_ns);
    trial.build_key.clear();
    trial.sweep = 0;
    trial.status = status;
    if (status != TrialStatus::ok) {
      trial.timing.reset();
      trial.accuracy.reset();
    }
    store.put_trial(key, onchip().hash, trial);
  };
  EXPECT_THAT(times_at(store, key), IsEmpty());
  put(TrialStatus::ok, 1500);
  EXPECT_THAT(times_at(store, key), ElementsAre(1500));
  put(TrialStatus::wrong_result, 0);
  EXPECT_THAT(times_at(store, key), IsEmpty()) << "what computed wrongly serves no shape around";
  put(TrialStatus::ok, 1600);
  put(TrialStatus::pruned, 0);
  EXPECT_THAT(times_at(store, key), ElementsAre(1600)) << "that it was not tried once says nothing";
  put(TrialStatus::crashed, 0);
  EXPECT_THAT(times_at(store, key), IsEmpty());
}

}  // namespace
}  // namespace tilewright
