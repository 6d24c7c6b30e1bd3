// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/miss_recorder.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/launch/sample_cache.hpp"

namespace tilewright::launch {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kShape = "softmax[dtype=bf16]{rows=8,cols=64}";

class Recorder : public ::testing::Test {
 protected:
  tilewright::testing::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "misses";
};

TEST_F(Recorder, writes_what_was_missed) {
  MissRecorder recorder(path_);
  recorder.record(kShape, "cpu");
  recorder.record(kShape, "cpu");
  const auto misses = MissFile(path_).read();
  ASSERT_EQ(misses.size(), 1U);
  EXPECT_EQ(misses[0].shape_key, kShape);
  EXPECT_EQ(misses[0].device_fingerprint, "cpu");
  EXPECT_EQ(misses[0].count, 2);
  EXPECT_GT(misses[0].first_at, 1'700'000'000);
  EXPECT_EQ(recorder.waiting(), 0U);
}

TEST_F(Recorder, writes_nothing_when_switched_off) {
  MissRecorder recorder(std::nullopt);
  recorder.record(kShape, "cpu");
  EXPECT_EQ(recorder.waiting(), 0U);
  EXPECT_EQ(recorder.problem(), "");
}

TEST_F(Recorder, keeps_misses_in_memory_while_another_has_the_file) {
  const int other = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  {
    MissRecorder recorder(path_);
    for (std::size_t i = 0; i < 3; ++i) recorder.record(kShape, "cpu");
    EXPECT_EQ(recorder.waiting(), 1U);
    for (std::size_t i = 0; i < 200; ++i) recorder.record(kShape.substr(0, 25) + std::to_string(i) + "}", "cpu");
    EXPECT_EQ(recorder.waiting(), 201U);
    ::close(other);
  }
  const auto misses = MissFile(path_).read();
  EXPECT_EQ(misses.size(), 201U) << "the end writes what waited";
  EXPECT_EQ(misses.front().count, 3);
}

TEST_F(Recorder, keeps_no_more_than_its_bound_while_another_has_the_file) {
  const int other = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  constexpr std::size_t kMost = MissRecorder::kMostWaiting;
  {
    MissRecorder recorder(path_);
    const auto record = [&](std::size_t i) { recorder.record(kShape.substr(0, 25) + std::to_string(i) + "}", "cpu"); };
    for (std::size_t i = 0; i < kMost + 50; ++i) record(i);
    EXPECT_EQ(recorder.waiting(), kMost);
    record(0);
    EXPECT_EQ(recorder.waiting(), kMost);
    ::close(other);
  }
  const auto misses = MissFile(path_).read();
  EXPECT_EQ(misses.size(), kMost);
  std::size_t asked_twice = 0;
  for (const Miss& miss : misses) asked_twice += miss.count == 2 ? 1 : 0;
  EXPECT_EQ(asked_twice, 1U) << "what is known is counted on";
}

TEST_F(Recorder, leaves_a_file_alone_that_is_not_its_own_and_says_so) {
  std::ofstream(path_) << "my diary\n";
  MissRecorder recorder(path_);
  recorder.record(kShape, "cpu");
  EXPECT_THAT(recorder.problem(), HasSubstr("is not a file of misses"));
  recorder.record(kShape, "cpu");
  EXPECT_EQ(recorder.waiting(), 0U);
  std::ifstream file(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "my diary\n");
}

TEST_F(Recorder, is_for_many_threads) {
  MissRecorder recorder(path_);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) recorder.record(kShape, "cpu");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(recorder.problem(), IsEmpty());
  EXPECT_EQ(MissFile(path_).read().at(0).count, 200);
}

}  // namespace
}  // namespace tilewright::launch
