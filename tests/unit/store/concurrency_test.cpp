// SPDX-License-Identifier: Apache-2.0
// Several writers, concurrent readers, and writers that are killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/unit/store/fixture.hpp"

namespace tilewright::concurrency_test {
namespace {

using namespace store_tests;

constexpr int kEach = 150;

void put_many(const std::filesystem::path& path, int writer, int count) {
  Store store(path, {StoreAccess::write, std::chrono::seconds(60)});
  for (int i = 0; i < count; ++i) put_winner(store, softmax_key(writer + 1, i + 1), onchip_config(1 + i % 4));
}

TEST(Concurrency, two_processes_write_one_cache_and_nothing_is_lost) {
  const TemporaryFolder folder;
  { Store store = prepared_store(folder / "c.db"); }
  std::vector<pid_t> children;
  for (int writer = 0; writer < 2; ++writer) {
    children.push_back(in_child([&, writer] {
      put_many(folder / "c.db", writer, kEach);
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  const Store store(folder / "c.db", {StoreAccess::read});
  EXPECT_EQ(store.counts().trials, 2 * kEach);
  EXPECT_EQ(store.counts().winners, 2 * kEach);
  EXPECT_EQ(store.counts().configs, 4);
  store.check();
}

TEST(Concurrency, processes_that_make_the_same_cache_together_agree) {
  for (int round = 0; round < 5; ++round) {
    const TemporaryFolder folder;
    std::vector<pid_t> children;
    for (int writer = 0; writer < 4; ++writer) {
      children.push_back(in_child([&, writer] {
        Store store = prepared_store(folder / "new/c.db");
        put_winner(store, softmax_key(writer + 1, 1), onchip_config(4));
        return 0;
      }));
    }
    for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
    const Store store(folder / "new/c.db", {StoreAccess::read});
    EXPECT_EQ(store.counts().winners, 4);
    EXPECT_EQ(store.counts().interfaces, 1);
    store.check();
  }
}

TEST(Concurrency, a_writer_killed_between_two_instructions_leaves_a_whole_cache) {
  const TemporaryFolder folder;
  { Store store = prepared_store(folder / "c.db"); }
  std::int64_t known = 0;
  for (int round = 0; round < 6; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = in_child([&] {
      Store store(folder / "c.db");
      const std::vector<std::byte> binary(20'000, static_cast<std::byte>(round));
      for (int i = 0;; ++i) {
        const std::string build = std::to_string(round) + "-" + std::to_string(i);
        store.put_build({build, true, "", {}, "", "NVRTC 13.0", "sm_90", 1}, binary);
        put_winner(store, softmax_key(round + 1, i + 1), onchip_config(4));
        if (::write(pipe_ends[1], "x", 1) != 1) return 1;
      }
    });
    ::close(pipe_ends[1]);
    // A different number of puts each time, so that the kill falls at different places.
    char done = 0;
    for (int i = 0; i < 20 + 37 * round; ++i) ASSERT_EQ(::read(pipe_ends[0], &done, 1), 1);
    known += 20 + 37 * round;
    ::kill(child, SIGKILL);
    EXPECT_EQ(wait_for(child), 1000 + SIGKILL);
    ::close(pipe_ends[0]);
    Store store(folder / "c.db");
    store.check();
    const Store::Counts counts = store.counts();
    EXPECT_GE(counts.winners, known) << "a put that returned is kept";
    EXPECT_GE(counts.trials, counts.winners);
    EXPECT_LE(counts.trials - counts.winners, round + 1) << "only the last act of each victim may be half done";
    known = counts.winners;
  }
}

TEST(Concurrency, a_reader_never_waits_and_sees_only_whole_commits) {
  const TemporaryFolder folder;
  { Store store = prepared_store(folder / "c.db"); }
  std::atomic<bool> done = false;
  std::thread writer([&] {
    put_many(folder / "c.db", 0, kEach);
    done = true;
  });
  const Store reader(folder / "c.db", {StoreAccess::read, std::chrono::milliseconds(0)});
  std::size_t seen = 0;
  while (!done) {
    const auto rows = reader.list_winners({});
    EXPECT_GE(rows.size(), seen);
    seen = rows.size();
    for (const auto& row : rows) ASSERT_TRUE(row.winner.trial.timing.has_value());
  }
  writer.join();
  EXPECT_EQ(reader.list_winners({}).size(), static_cast<std::size_t>(kEach));
}

TEST(Concurrency, threads_with_a_store_each_write_together) {
  const TemporaryFolder folder;
  { Store store = prepared_store(folder / "c.db"); }
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 3; ++writer) {
    threads.emplace_back([&, writer] { put_many(folder / "c.db", writer, 50); });
  }
  for (std::thread& thread : threads) thread.join();
  const Store store(folder / "c.db", {StoreAccess::read});
  EXPECT_EQ(store.counts().winners, 150);
  store.check();
}

TEST(Concurrency, a_store_may_be_handed_from_thread_to_thread) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  for (int i = 0; i < 3; ++i) {
    std::thread([&] { put_winner(store, softmax_key(1, i + 1), onchip_config(4)); }).join();
  }
  EXPECT_EQ(store.counts().winners, 3);
}

}  // namespace
}  // namespace tilewright::concurrency_test
