// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/plan_table.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "cache/launch/ready_plan.hpp"

namespace tilewright::launch {
namespace {

/// A pointer that identifies a plan and is not dereferenced.
std::shared_ptr<const ReadyPlan> fake_plan(std::uintptr_t number) {
  return {std::shared_ptr<const ReadyPlan>(), reinterpret_cast<const ReadyPlan*>(number)};
}

PlanKey key_of(std::int64_t rows, std::int64_t cols = 64, std::uint64_t context = 1, std::uint64_t alignment = 7) {
  PlanKey key;
  key.context = context;
  key.alignment = alignment;
  key.dims = {rows, cols};
  return key;
}

TEST(PlanTable, finds_what_was_added_and_nothing_else) {
  PlanTable table(2);
  EXPECT_EQ(table.find(key_of(1)), nullptr);
  table.put(key_of(1), fake_plan(8));
  EXPECT_EQ(table.find(key_of(1)), fake_plan(8).get());
  EXPECT_EQ(table.find(key_of(2)), nullptr);
  EXPECT_EQ(table.find(key_of(1, 65)), nullptr);
  EXPECT_EQ(table.find(key_of(1, 64, 2)), nullptr) << "another context";
  EXPECT_EQ(table.find(key_of(1, 64, 1, 6)), nullptr) << "another alignment";
}

TEST(PlanTable, keeps_everything_as_it_grows) {
  PlanTable table(2);
  constexpr std::int64_t kMany = 10'000;
  for (std::int64_t i = 1; i <= kMany; ++i) table.put(key_of(i * 256, i), fake_plan(static_cast<std::uintptr_t>(i)));
  EXPECT_EQ(table.size(), static_cast<std::size_t>(kMany));
  for (std::int64_t i = 1; i <= kMany; ++i) {
    ASSERT_EQ(table.find(key_of(i * 256, i)), fake_plan(static_cast<std::uintptr_t>(i)).get()) << i;
    ASSERT_EQ(table.find(key_of(i * 256, i + 1)), nullptr);
  }
}

TEST(PlanTable, puts_a_better_plan_in_the_place_of_another) {
  PlanTable table(2);
  constexpr std::int64_t kMany = 1000;
  for (std::int64_t i = 1; i <= kMany; ++i) table.put(key_of(i), fake_plan(8));
  table.put(key_of(17), fake_plan(16));
  EXPECT_EQ(table.find(key_of(kMany + 1)), nullptr);
  // Also after the table has grown.
  for (std::int64_t i = kMany + 1; i <= 3 * kMany; ++i) table.put(key_of(i), fake_plan(8));
  for (std::int64_t i = 1; i <= 3 * kMany; ++i) {
    ASSERT_EQ(table.find(key_of(i)), fake_plan(i == 17 ? 16 : 8).get()) << i;
  }
}

TEST(PlanTable, forgets_what_it_is_told_to_until_it_is_put_again) {
  PlanTable table(2);
  constexpr std::int64_t kMany = 100;
  for (std::int64_t i = 1; i <= kMany; ++i) table.put(key_of(i), fake_plan(8));
  for (std::int64_t i = 1; i < kMany; ++i) table.forget(key_of(i));
  table.forget(key_of(kMany + 1));
  EXPECT_EQ(table.last(key_of(kMany + 1)), nullptr);
  for (std::int64_t i = 1; i < kMany; ++i) {
    ASSERT_EQ(table.find(key_of(i)), nullptr) << i;
    ASSERT_EQ(table.last(key_of(i)).get(), fake_plan(8).get()) << i;
  }
  EXPECT_EQ(table.find(key_of(kMany)), fake_plan(8).get());
  EXPECT_EQ(table.keys().size(), 1U);
  table.put(key_of(1), table.last(key_of(1)));
  table.put(key_of(2), fake_plan(16));
  EXPECT_EQ(table.find(key_of(1)), fake_plan(8).get());
  EXPECT_EQ(table.find(key_of(2)), fake_plan(16).get());
  EXPECT_EQ(table.find(key_of(3)), nullptr);
}

TEST(PlanTable, costs_no_memory_where_the_same_plans_are_put_again) {
  PlanTable table(2);
  constexpr std::int64_t kMany = 100;
  for (int round = 0; round < 1000; ++round) {
    for (std::int64_t i = 1; i <= kMany; ++i) table.put(key_of(i), fake_plan(8));
    for (const PlanKey& key : table.keys()) table.forget(key);
  }
  EXPECT_EQ(table.size(), static_cast<std::size_t>(kMany));
  table.put(key_of(1), fake_plan(16));
  EXPECT_EQ(table.size(), static_cast<std::size_t>(kMany) + 1) << "a launch may hold the one before";
}

TEST(PlanTable, hashes_regular_shapes_apart) {
  // Typical extents are powers of two and multiples of 64: of 4096 such keys in 16384 buckets few may collide.
  std::set<std::uint64_t> buckets;
  for (std::int64_t i = 0; i < 64; ++i) {
    for (std::int64_t j = 0; j < 64; ++j) buckets.insert(key_of(64 * (i + 1), 128 * (j + 1)).hash(2) % 16384);
  }
  EXPECT_GT(buckets.size(), 3400U) << "random keys fill about 3620 buckets";
}

TEST(PlanTable, readers_need_not_wait_for_a_writer) {
  PlanTable table(2);
  constexpr std::int64_t kMany = 4000;
  std::atomic<std::int64_t> added{0};
  std::thread reader([&] {
    while (added < kMany) {
      const std::int64_t known = added;
      for (std::int64_t i = 1; i <= known; i += 37) {
        ASSERT_EQ(table.find(key_of(i)), fake_plan(static_cast<std::uintptr_t>(i)).get()) << i << " of " << known;
      }
    }
  });
  for (std::int64_t i = 1; i <= kMany; ++i) {
    table.put(key_of(i), fake_plan(static_cast<std::uintptr_t>(i)));
    added = i;
  }
  reader.join();
}

}  // namespace
}  // namespace tilewright::launch
