// SPDX-License-Identifier: Apache-2.0
// Pinned snapshots, comparison between ranks, and swaps during launches.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include "cache/base/sha256.hpp"
#include "cache/store/whole_file.hpp"
#include "docs/examples/ranks/mpi_ranks.hpp"
#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using namespace tilewright::testing;
namespace fs = std::filesystem;

/// A folder of `tilewright pull` with two snapshots.
class SnapshotTest : public LaunchFixture {
 protected:
  SnapshotTest() {
    fs::create_directories(pulled() / "snapshots");
    old_ = keep("4");
    next_ = keep("16");
    point(old_);
  }
  ~SnapshotTest() override { ::unsetenv("TILEWRIGHT_SNAPSHOT"); }

  [[nodiscard]] fs::path pulled() const { return folder_.path() / "pulled"; }
  [[nodiscard]] std::string link() const { return (pulled() / "stable.db").string(); }
  [[nodiscard]] fs::path snapshot(const std::string& hash) const { return pulled() / "snapshots" / (hash + ".db"); }
  void point(const std::string& hash) const {
    const fs::path draft = pulled() / "draft";
    fs::create_symlink(fs::path("snapshots") / (hash + ".db"), draft);
    fs::rename(draft, link());
  }
  /// Keeps a snapshot in which a shape is served with `warps` warps; returns its hash.
  [[nodiscard]] std::string keep(const std::string& warps) const {
    const fs::path file = folder_.path() / ("made" + warps);
    {
      SampleCache cache(file);
      cache.add_scale();
      cache.add_winner(scale_interface(), "scale[dtype=f16]{rows=16,cols=64}",
                       "wide{num_warps=" + warps + ",vec=8,static_dims=1}");
      WholeFile::seal(cache.store());
    }
    const std::string hash = sha256_file(file);
    fs::rename(file, snapshot(hash));
    return hash;
  }
  [[nodiscard]] unsigned warps(const Launcher& launcher) const {
    recording_.reset();
    launcher.op("scale[dtype=f16]")(nullptr, {16, 64}, fake_address(256), fake_address(256), 1.0);
    return recording_.launches().at(0).block[0] / 32;
  }

  std::string old_, next_;
};

TEST_F(SnapshotTest, a_pin_is_served_whatever_the_link_leads_to) {
  point(next_);
  const Launcher pinned({.cache = link(), .snapshot = "sha256:" + old_});
  EXPECT_EQ(warps(pinned), 4U);
  EXPECT_EQ(pinned.snapshot().snapshot, "sha256:" + old_);
  EXPECT_TRUE(pinned.snapshot().pinned);
  EXPECT_EQ(pinned.snapshot().cache, snapshot(old_).string());
  // The file itself may be named, or a copy with another name.
  EXPECT_EQ(warps(Launcher({.cache = snapshot(old_).string(), .snapshot = "sha256:" + old_})), 4U);
  fs::copy_file(snapshot(old_), folder_.path() / "any.db");
  EXPECT_EQ(warps(Launcher({.cache = (folder_.path() / "any.db").string(), .snapshot = "sha256:" + old_})), 4U);
}

TEST_F(SnapshotTest, the_environment_pins_and_nothing_newer_is_taken_up) {
  ::setenv("TILEWRIGHT_SNAPSHOT", ("sha256:" + old_).c_str(), 1);
  const Launcher pinned({.cache = link(), .watch_ms = 1});
  EXPECT_EQ(warps(pinned), 4U);
  point(next_);
  pinned.refresh();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(warps(pinned), 4U);
  ::unsetenv("TILEWRIGHT_SNAPSHOT");
  EXPECT_EQ(warps(Launcher(link())), 16U);
}

TEST_F(SnapshotTest, no_other_file_is_opened_for_a_pin) {
  const std::string none(64, 'a');
  const auto open = [&](const std::string& pin) {
    return [=, this] { const Launcher opened({.cache = link(), .fallback = link(), .snapshot = pin}); };
  };
  const std::string missing = failure(TW_ERROR_CACHE, open("sha256:" + none));
  EXPECT_THAT(missing, HasSubstr("tilewright pull URL --pin sha256:" + none));
  EXPECT_THAT(missing, HasSubstr("is sha256:" + old_));
  for (const std::string& pin :
       std::vector<std::string>{old_, "sha256:", "sha256:" + std::string(64, 'A'), "sha256:" + old_ + "0"}) {
    EXPECT_THAT(failure(TW_ERROR_USAGE, open(pin)), HasSubstr("TILEWRIGHT_SNAPSHOT"));
  }
  // The name is not trusted.
  fs::copy_file(snapshot(old_), snapshot(none));
  EXPECT_THAT(failure(TW_ERROR_CACHE, open("sha256:" + none)), HasSubstr("is sha256:" + old_));
}

TEST_F(SnapshotTest, ranks_compare_the_file_and_what_it_served) {
  const Launcher one(link()), two(link());
  EXPECT_EQ(one.snapshot().snapshot, "sha256:" + old_);
  EXPECT_FALSE(one.snapshot().pinned);
  EXPECT_EQ(one.snapshot().plans, 0);
  const auto launch = [&](const Launcher& launcher, std::int64_t rows) {
    launcher.op("scale[dtype=f16]")(nullptr, {rows, 64}, fake_address(256), fake_address(256), 1.0);
  };
  launch(one, 16);
  EXPECT_NE(one.snapshot().plans_digest, two.snapshot().plans_digest);
  launch(one, 8);
  launch(two, 8);
  launch(two, 16);
  EXPECT_EQ(one.snapshot().plans, 2);
  EXPECT_EQ(one.snapshot().plans_digest, two.snapshot().plans_digest) << "in whatever order";
  point(next_);
  EXPECT_EQ(one.snapshot().snapshot, "") << "what is open is another";
  one.refresh();
  EXPECT_EQ(one.snapshot().snapshot, "sha256:" + next_);
  EXPECT_NE(one.snapshot().plans_digest, two.snapshot().plans_digest) << "served otherwise";
}

TEST_F(SnapshotTest, ranks_of_mpi_open_what_rank_0_names) {
  for (const int rank : {0, 1}) {
    fake_mpi_rank = rank;
    EXPECT_EQ(ranks::pin_for_all(link(), 0).snapshot().snapshot, "sha256:" + old_);
    point(next_);
  }
}

TEST_F(SnapshotTest, no_rank_of_mpi_opens_a_cache_that_tuners_write) {
  const std::string cache = filled_cache();
  const SampleCache writer(cache_path());
  for (const int rank : {0, 1}) {
    fake_mpi_rank = rank;
    EXPECT_THROW((void)ranks::pin_for_all(cache, 0), LaunchError);
  }
}

TEST_F(SnapshotTest, no_rank_of_mpi_waits_where_the_link_of_rank_0_is_missing) {
  fake_mpi_rank = 0;
  const std::string missing = link() + ".missing";
  EXPECT_THAT(failure(TW_ERROR_CACHE, [&] { (void)ranks::pin_for_all(missing, 0); }), HasSubstr(missing));
  fake_mpi_rank = 1;
  EXPECT_THROW((void)ranks::pin_for_all(link(), 0), LaunchError) << "told so by rank 0";
}

TEST_F(SnapshotTest, a_cache_that_tuners_write_is_no_snapshot) {
  const Launcher launcher(filled_cache());
  const SampleCache writer(cache_path());
  char* json = nullptr;
  ASSERT_EQ(tw_snapshot(launcher.get(), &json), TW_OK);
  EXPECT_THAT(std::string(json), HasSubstr("\"snapshot\":null,\"why\":\"tuners write the cache"));
  tw_free(json);
}

TEST_F(SnapshotTest, swaps_under_launching_threads_tear_no_launch_and_fail_none) {
  const Launcher launcher({.cache = link(), .watch_ms = 5});
  const Op scale = launcher.op("scale[dtype=f16]");
  std::atomic<bool> done{false};
  std::atomic<int> launched{0}, failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      context_.make_current();
      while (!done) {
        try {
          scale(nullptr, {16, 64}, fake_address(256), fake_address(256), 1.0);
          ++launched;
        } catch (const LaunchError&) {
          ++failed;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  }
  for (int swap = 0; swap < 40; ++swap) {
    point(swap % 2 == 0 ? next_ : old_);
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  const auto launches = recording_.launches();
  EXPECT_EQ(launches.size(), static_cast<std::size_t>(launched.load()));
  std::map<unsigned, int> seen;
  for (const auto& launch : launches) {
    ++seen[launch.block[0]];
    ASSERT_EQ(launch.shared_bytes, launch.block[0] / 4) << "geometry of one, memory of another";
  }
  EXPECT_EQ(seen.size(), 2U) << "both served";
  EXPECT_TRUE(seen.contains(128) && seen.contains(512));
}

// Alternates seconds with and without a swap. TILEWRIGHT_TEST_SWAPS=20, on a quiet machine, compares them.
TEST_F(SnapshotTest, a_swap_a_second_costs_launches_nothing) {
  const char* const asked = std::getenv("TILEWRIGHT_TEST_SWAPS");
  const Launcher launcher({.cache = link(), .watch_ms = 50});
  const Op scale = launcher.op("scale[dtype=f16]");
  std::array<std::vector<double>, 2> batches;
  for (int turn = 0; turn < 2 * (asked == nullptr ? 1 : std::atoi(asked)); ++turn) {
    const bool swaps = turn % 2 == 1;
    if (swaps) point(turn % 4 == 1 ? next_ : old_);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (std::chrono::steady_clock::now() < end) {
      constexpr int kLaunches = 500;
      const auto began = std::chrono::steady_clock::now();
      for (int i = 0; i < kLaunches; ++i) scale(nullptr, {16, 64}, fake_address(256), fake_address(256), 1.0);
      const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - began;
      batches[swaps ? 1 : 0].push_back(time.count() / kLaunches);
      recording_.reset();
    }
  }
  const auto median = [](std::vector<double>& values) {
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
  };
  const double without = median(batches[0]), with = median(batches[1]);
  std::printf("a launch takes %.1f ns, and %.1f ns in seconds with a swap: %.4f\n", without, with, with / without);
  EXPECT_NEAR(with / without, 1, asked == nullptr ? 100 : 0.01);
}

}  // namespace
}  // namespace tilewright
