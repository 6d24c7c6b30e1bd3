// SPDX-License-Identifier: Apache-2.0
#include "cache/store/job_queue.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/unit/store/fixture.hpp"

namespace tilewright::job_queue_test {
namespace {

using namespace store_tests;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JobQueues : public ::testing::Test {
 protected:
  std::int64_t submit(const std::string& definition, const std::string& device = "cpu") {
    return queue
        .submit({.definition = definition}, std::vector<Job>{{.shape_key = definition, .device_fingerprint = device}})
        .value();
  }
  /// Takes the next job; returns its campaign, or 0 if there is none.
  std::int64_t take(std::int64_t least, const std::string& device = "cpu") {
    const std::vector<std::string> devices{device};
    const std::optional<Job> job = queue.take(devices, least);
    return job ? job->campaign.value() : 0;
  }

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

TEST_F(JobQueues, the_highest_priority_is_first_and_of_equals_the_one_that_came_first) {
  submit(R"({"priority": -3})");
  submit("{}");
  submit(R"({"priority": 100})");
  submit(R"({"priority": 0})");
  submit(R"({"priority": 100})", "GPU");
  submit("of no JSON");
  std::vector<std::int64_t> order;
  while (const std::int64_t next = take(0)) order.push_back(next);
  EXPECT_THAT(order, ElementsAre(3, 2, 4, 6));
  EXPECT_EQ(take(-100), 1);
  EXPECT_EQ(take(-100), 0) << "the other device has it";
  EXPECT_EQ(take(0, "GPU"), 5);
  EXPECT_EQ(queue.campaign(1)->priority, -3);
  EXPECT_EQ(queue.campaign(2)->priority, 0);
}

TEST_F(JobQueues, a_job_that_is_put_back_waits_and_its_attempt_does_not_count) {
  submit("{}");
  const std::vector<std::string> devices{"cpu"};
  const std::optional<Job> first = queue.take(devices, 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->attempts, 1);
  queue.put_back(*first, "interrupted");
  const std::optional<Job> again = queue.take(devices, 0);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->attempts, 1);
  queue.finish(*again, JobState::queued, "the device was lost");
  EXPECT_EQ(queue.take(devices, 0)->attempts, 2);
}

TEST_F(JobQueues, damaged_rows_stop_nothing_but_themselves) {
  for (int i = 1; i <= 3; ++i) {
    const std::string definition = fmt::format(R"({{"name": "{}"}})", i);
    ASSERT_TRUE(queue.submit({.definition = definition}, std::vector<Job>(2, {.device_fingerprint = "cpu"})));
    EXPECT_TRUE(queue.report({"softmax{rows=" + std::to_string(i) + "}", "cpu", 1}));
  }
  damage_rows(cache,
              "UPDATE campaigns SET name = 'x' WHERE id = 1; UPDATE misses SET count = 9 WHERE id = 1; "
              "UPDATE jobs SET state = 'running', reason = 'x' WHERE id = 3");
  queue.recover();
  EXPECT_EQ(queue.campaigns().size(), 2U);
  EXPECT_THAT(refusal([&] { (void)queue.campaign(1); }), HasSubstr("row 1 of the table campaigns"));
  const std::vector<std::string> devices{"cpu"};
  const Job job = queue.take(devices, 0).value();
  EXPECT_EQ(job.id, 4) << "not of the damaged campaign, and not the damaged one";
  queue.finish(job, JobState::done, "");
  EXPECT_EQ(queue.campaign(2)->state, "done") << "it does not wait for the damaged one";
  EXPECT_EQ(queue.campaign(3)->jobs, 2);
  EXPECT_EQ(queue.misses_to_tune(devices, 9).size(), 2U);
  EXPECT_EQ(Store(cache).list_misses().size(), 2U);
  EXPECT_EQ(queue.jobs_of(2).size(), 1U);
  EXPECT_TRUE(queue.report({"softmax{rows=1}", "cpu", 4}));
  EXPECT_EQ(Store(cache).list_misses().at(0).count, 4) << "the damaged one is forgotten";
  EXPECT_FALSE(queue.cancel(1));
}

TEST_F(JobQueues, a_campaign_whose_last_open_job_is_damaged_ends_at_the_next_start) {
  for (int i = 1; i <= 4; ++i) {
    ASSERT_TRUE(queue.submit({.definition = "{}"}, std::vector<Job>(2, {.device_fingerprint = "cpu"})));
  }
  const std::vector<std::string> devices{"cpu"};
  queue.finish(queue.take(devices, 0).value(), JobState::done, "");
  (void)queue.take(devices, 0);
  queue.finish(queue.take(devices, 0).value(), JobState::failed, "no config is right");
  damage_rows(cache, "UPDATE jobs SET reason = 'x' WHERE id IN (2, 4, 5, 6)");
  queue.recover();
  EXPECT_EQ(queue.campaign(1)->state, "done");
  EXPECT_EQ(queue.campaign(2)->state, "failed");
  EXPECT_EQ(queue.campaign(2)->reason, "no config is right");
  EXPECT_EQ(queue.campaign(3)->state, "failed") << "nothing of it was tuned";
  EXPECT_EQ(queue.campaign(3)->reason, "its jobs were damaged");
  EXPECT_EQ(queue.campaign(4)->state, "queued");
}

TEST_F(JobQueues, a_cancelled_campaign_leaves_its_damaged_jobs_damaged) {
  ASSERT_TRUE(queue.submit({.definition = "{}"}, std::vector<Job>(2, {.device_fingerprint = "cpu"})));
  damage_rows(cache, "UPDATE jobs SET reason = 'x' WHERE id = 1");
  EXPECT_TRUE(queue.cancel(1));
  const std::vector<Job> jobs = queue.jobs_of(1);
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs.front().id, 2);
}

TEST_F(JobQueues, a_campaign_that_failed_in_part_says_why) {
  ASSERT_TRUE(queue.submit({.definition = "{}"}, std::vector<Job>(2, {.device_fingerprint = "cpu"})));
  const std::vector<std::string> devices{"cpu"};
  queue.finish(queue.take(devices, 0).value(), JobState::failed, "no config is right");
  queue.finish(queue.take(devices, 0).value(), JobState::done, "the base failed");
  EXPECT_EQ(queue.campaign(1)->state, "partly");
  EXPECT_EQ(queue.campaign(1)->reason, "no config is right");
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
}  // namespace tilewright::job_queue_test
