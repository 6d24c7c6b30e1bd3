// SPDX-License-Identifier: Apache-2.0
#include "cache/store/job_queue.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/unit/store/fixture.hpp"

namespace tilewright {
namespace {

using namespace store_tests;

class JobQueues : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  const std::filesystem::path cache = folder / "cache.db";
  JobQueue queue{cache};
};

TEST_F(JobQueues, misses_sum_up_by_shape_and_device_and_the_most_asked_is_first) {
  for (const Miss& miss : {Miss{"softmax{rows=1}", "cpu", 1}, Miss{"conv{n=1}", "GTX fictional", 3},
                           Miss{"softmax{rows=1}", "cpu", 4}, Miss{"softmax{rows=1}", "other", 1}}) {
    EXPECT_TRUE(queue.report(miss));
  }
  const std::vector<Miss> misses = Store(cache).list_misses();
  ASSERT_EQ(misses.size(), 3U);
  EXPECT_EQ(misses[0].shape_key, "softmax{rows=1}");
  EXPECT_EQ(misses[0].count, 5);
  EXPECT_EQ(misses[1].count, 3);
  EXPECT_GT(misses[0].first_at, 1'700'000'000);
  EXPECT_LE(misses[0].first_at, misses[0].last_at);
}

TEST_F(JobQueues, who_only_reads_makes_and_changes_nothing) {
  const std::filesystem::path other = folder / "other.db";
  EXPECT_THROW(JobQueue(other, StoreAccess::read_older), CacheError);
  make_export(other);
  const auto before = folder.content();
  JobQueue reader(other, StoreAccess::read_older);
  EXPECT_EQ(reader.depth().queued, 0);
  EXPECT_THROW((void)reader.report({"softmax{rows=1}", "cpu", 1}), CacheError);
  EXPECT_EQ(folder.content(), before);
}

}  // namespace
}  // namespace tilewright
