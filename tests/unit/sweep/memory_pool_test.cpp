// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/memory_pool.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "tests/unit/sweep/sweep_fixture.hpp"
#include "tuner/sweep/failure.hpp"

namespace tilewright::testing {
namespace {

class Holder : public MemoryPool::User {
 public:
  void evict() override { bytes = 0; }
  [[nodiscard]] std::size_t held() const override { return bytes; }
  std::size_t bytes = 0;
};

constexpr const char* kShort = "allocating failed: out of memory";
[[noreturn]] void run_short() { throw DeviceError(kShort, kOutOfMemory); }

TEST(MemoryPool, takes_what_other_problems_hold_before_it_gives_up) {
  FakeDevice device({.gpu = true});
  MemoryPool pool(device);
  Holder one, other;
  other.bytes = 100;
  pool.add(one);
  pool.add(other);
  int calls = 0;
  pool.use(one,
           [&] {
             if (++calls == 1) run_short();
           },
           {});
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(other.bytes, 0U);
}

TEST(MemoryPool, tries_no_second_time_where_nobody_else_has_the_memory) {
  FakeDevice device({.gpu = true});
  MemoryPool pool(device);
  Holder one;
  pool.add(one);
  int calls = 0;
  const auto work = [&] {
    ++calls;
    run_short();
  };
  try {
    pool.use(one, work, {});
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(), kShort);
  }
  EXPECT_EQ(calls, 1);
}

TEST(MemoryPool, leaves_other_failures_alone) {
  FakeDevice device({.gpu = true});
  device.read = [] {
    DeviceReadings readings;
    readings.other_processes = 1;
    return readings;
  };
  MemoryPool pool(device);
  Holder one;
  int calls = 0;
  EXPECT_THROW(pool.use(one,
                        [&] {
                          ++calls;
                          throw DeviceError("illegal address", 700);
                        },
                        {}),
               DeviceError);
  EXPECT_EQ(calls, 1);
}

TEST(MemoryPool, waits_for_another_process_within_a_bound_and_then_no_more) {
  FakeDevice device({.gpu = true});
  device.read = [] {
    DeviceReadings readings;
    readings.other_processes = 1;
    return readings;
  };
  MemoryPool pool(device);
  Holder one;
  int calls = 0;
  const auto fail = [&] {
    ++calls;
    run_short();
  };
  try {
    pool.use(one, fail, {});
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_EQ(std::string(error.what()), kBesideOthers + std::string(kShort));
    EXPECT_EQ(status_of(error), TrialStatus::exceeds_limits);
  }
  EXPECT_EQ(calls, 4);
  EXPECT_THROW(pool.use(one, fail, {}), DeviceError);
  EXPECT_EQ(calls, 5) << "each is not waited for";
  pool.use(one, [] {}, {});
  EXPECT_THROW(pool.use(one, fail, {}), DeviceError);
  EXPECT_EQ(calls, 9);
}

TEST(MemoryPool, notices_by_the_memory_a_process_that_nobody_tells_of) {
  FakeDevice device({.gpu = true, .memory = std::size_t{64} << 30});
  MemoryPool pool(device);
  Holder one;
  pool.add(one);
  const auto message = [&] {
    try {
      pool.use(
          one, [] { run_short(); }, [] { return true; });
    } catch (const DeviceError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(), kShort);
  device.taken = std::size_t{32} << 30;
  EXPECT_EQ(message(), kBesideOthers + std::string(kShort));
  // This program itself uses the missing memory.
  one.bytes = std::size_t{32} << 30;
  EXPECT_EQ(message(), kShort);
}

class CrowdedSweep : public SweepFixture {
 protected:
  CrowdedSweep() {
    request.max_configs = 3;
    use_shapes("n=100000");
    device.fake_compiler.crashing_fails = true;
    device.read = [this] {
      DeviceReadings readings;
      readings.other_processes = device.taken > 0 ? 1 : 0;
      return readings;
    };
  }
  FakeDevice device{{.gpu = true}};
};

TEST_F(CrowdedSweep, measures_what_had_no_room_once_the_other_process_is_gone) {
  int asked = 0;
  const auto read = device.read;
  device.read = [&, read] {
    const DeviceReadings readings = read();
    if (++asked == 2) device.taken = 0;  // it has ended
    return readings;
  };
  device.taken = (std::size_t{64} << 20) - 1000;
  const SweepSummary summary = sweep(device);
  EXPECT_EQ(summary.without_winner, 0U);
  for (const Trial& trial : trials(device)) EXPECT_FALSE(may_pass(trial)) << trial.reason;
}

TEST_F(CrowdedSweep, tries_again_the_next_time_what_found_no_room) {
  request.max_configs = 1;
  // After the problem is set up, another process takes all remaining memory before the input sets are made.
  bool set_up = false;
  device.before_load = [&] {
    if (std::exchange(set_up, true)) device.taken += device.free_bytes();
  };
  (void)sweep(device);
  ASSERT_EQ(trials(device).size(), 1U);
  EXPECT_EQ(trials(device).at(0).status, TrialStatus::exceeds_limits);
  EXPECT_TRUE(may_pass(trials(device).at(0))) << trials(device).at(0).reason;
  FakeDevice later{{.gpu = true}};
  EXPECT_EQ(sweep(later).measured, 1U);
  EXPECT_EQ(trials(later).at(0).status, TrialStatus::ok);
  EXPECT_EQ(winners(later).size(), 3U);
}

// A final's last check is on other data than configs are verified and timed on.
TEST_F(CrowdedSweep, has_a_winner_wherever_there_is_room_to_time_a_config) {
  FakeDevice roomy{{.gpu = true}};
  (void)sweep(roomy);
  const std::string best = winners(roomy).at(0).trial.config.text();
  std::set<bool> seen;
  for (std::size_t memory = 1 << 20; memory < 6 << 20; memory += 256 << 10) {
    std::filesystem::remove(folder / "cache.db");
    listener.trials.clear();
    FakeDevice tight{{.gpu = true, .memory = memory}};
    (void)sweep(tight);
    const bool timed = std::ranges::any_of(listener.trials, [](const Trial& each) { return each.timing.has_value(); });
    ASSERT_EQ(winners(tight).empty(), !timed) << memory;
    if (timed) {
      EXPECT_EQ(winners(tight).at(0).trial.config.text(), best) << memory;
    }
    seen.insert(timed);
  }
  EXPECT_EQ(seen.size(), 2U) << "both cases were seen";
}

}  // namespace
}  // namespace tilewright::testing
