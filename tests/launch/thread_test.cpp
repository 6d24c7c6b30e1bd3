// SPDX-License-Identifier: Apache-2.0
// Concurrent launches, misses and refreshes: most useful with ThreadSanitizer.
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using namespace tilewright::testing;

class ThreadTest : public LaunchFixture {
 protected:
  /// Runs `work(thread)` on several threads at once, each with the context current.
  void on_threads(int count, const std::function<void(int)>& work) const {
    std::atomic<int> waiting{count};
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        context_.make_current();
        --waiting;
        while (waiting.load() > 0) std::this_thread::yield();
        work(i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  const Launcher launcher_{filled_cache()};
  const Op scale_ = launcher_.op("scale[dtype=f16]");
};

TEST_F(ThreadTest, many_threads_meet_the_same_new_shapes) {
  constexpr int kThreads = 4;
  constexpr int kShapes = 300;
  on_threads(kThreads, [&](int) {
    for (std::int64_t rows = 1; rows <= kShapes; ++rows) {
      scale_(nullptr, {rows, 61}, fake_address(256), fake_address(256), 1.0);
    }
  });
  std::vector<int> seen(kShapes + 1);
  for (const auto& launch : recording_.launches()) {
    const auto rows = param<std::int64_t>(launch, 3);
    ASSERT_EQ(launch.grid[0], static_cast<unsigned>(rows)) << "another shape's plan";
    ++seen.at(static_cast<std::size_t>(rows));
  }
  for (int rows = 1; rows <= kShapes; ++rows) EXPECT_EQ(seen[static_cast<std::size_t>(rows)], kThreads) << rows;
  EXPECT_EQ(recording_.calls("cuLibraryLoadData"), 1U);
}

TEST_F(ThreadTest, launches_go_on_while_the_cache_is_refreshed) {
  std::atomic<bool> done{false};
  std::atomic<int> launched{0};
  on_threads(4, [&](int thread) {
    if (thread == 0) {
      for (int warps = 1; warps <= 16; ++warps) {
        SampleCache(cache_path())
            .add_winner(scale_interface(), "scale[dtype=f16]{rows=" + std::to_string(warps) + ",cols=128}",
                        "wide{num_warps=16,vec=8,static_dims=1}");
        launcher_.refresh();
      }
      done = true;
      return;
    }
    for (std::int64_t i = 0; !done || i < 100; ++i) {
      scale_(nullptr, {1 + i % 16, 128}, fake_address(256), fake_address(256), 1.0);
      ++launched;
    }
  });
  const auto launches = recording_.launches();
  EXPECT_EQ(launches.size(), static_cast<std::size_t>(launched.load()));
  for (const auto& launch : launches) {
    // Either the near shape's winner or the new one, not a mixture.
    ASSERT_THAT(launch.block[0], ::testing::AnyOf(128U, 512U));
    ASSERT_EQ(launch.shared_bytes, launch.block[0] / 4);
  }
  recording_.reset();
  scale_(nullptr, {16, 128}, fake_address(256), fake_address(256), 1.0);
  EXPECT_EQ(recording_.launches().at(0).block[0], 512U);
}

TEST_F(ThreadTest, every_launch_has_the_tensor_map_of_its_own_address) {
  const Op reduce = launcher_.op("reduce");
  constexpr int kThreads = 4;
  constexpr std::uintptr_t kLaunches = 400;
  on_threads(kThreads, [&](int thread) {
    // A stream for each thread, since workspace launches of one stream take turns.
    const cuda::OwnedStream stream(driver_);
    for (std::uintptr_t i = 0; i < kLaunches; ++i) {
      // The threads share some addresses, and each uses new ones that evict others.
      const std::uintptr_t place = i % 3 == 0 ? i % 7 : 7 + i + kLaunches * static_cast<std::uintptr_t>(thread);
      void* const a = fake_address(256 * (1 + place));
      // The map must have the output's address.
      reduce(stream.get(), {64, 256}, a, a);
    }
  });
  const auto launches = recording_.launches();
  ASSERT_EQ(launches.size(), 2 * kThreads * kLaunches);
  std::map<void*, std::uint64_t> mapped;
  for (const auto& launch : launches) {
    if (std::string(launch.symbol) == "partial_symbol") {
      const auto map = param<cuda::TensorMap>(launch, 0);
      EXPECT_EQ(map.words[15], map.words[0]) << "a map of parts";
      mapped[launch.stream] = map.words[0];
    } else {
      ASSERT_EQ(mapped.at(launch.stream), param<std::uint64_t>(launch, 1));
    }
  }
  EXPECT_EQ(recording_.calls("cuTensorMapEncodeTiled"), 1U);
}

TEST_F(ThreadTest, queries_preloads_and_ops_of_many_threads_do_not_disturb_each_other) {
  on_threads(4, [&](int thread) {
    for (std::int64_t i = 1; i <= 40; ++i) {
      const Op op = launcher_.op(i % 2 == 0 ? "scale[dtype=f16]" : "scale[dtype=f16,round=no]");
      EXPECT_EQ(op.match({8, 64}).fit, "exact");
      op.preload({i, 64 + thread});
    }
  });
}

TEST_F(ThreadTest, the_last_error_is_each_threads_own) {
  on_threads(4, [&](int thread) {
    for (int i = 0; i < 50; ++i) {
      const std::string wrong = "op" + std::to_string(thread);
      tw_op* op = nullptr;
      EXPECT_EQ(tw_op_get(launcher_.get(), wrong.c_str(), &op), TW_ERROR_USAGE);
      EXPECT_NE(std::string(tw_last_error()).find(wrong), std::string::npos) << tw_last_error();
    }
  });
}

}  // namespace
}  // namespace tilewright
