// SPDX-License-Identifier: Apache-2.0
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>

#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using namespace tilewright::testing;

bool within_a_minute(const std::function<bool()>& seen) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!seen()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

/// Detects whether a file is opened, even after a rename.
class Opened {
 public:
  explicit Opened(const std::string& path) : events_(::inotify_init1(IN_NONBLOCK)) {
    if (::inotify_add_watch(events_, path.c_str(), IN_OPEN) < 0) throw std::runtime_error("no watch of " + path);
  }
  ~Opened() { ::close(events_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  [[nodiscard]] bool yet() const {
    char event[sizeof(inotify_event) + NAME_MAX + 1];
    return ::read(events_, event, sizeof event) > 0;
  }

 private:
  int events_;
};

class RefreshTest : public LaunchFixture {
 protected:
  unsigned threads(std::int64_t rows = 16) const { return threads_of(scale_, rows); }
  unsigned warps(const Op& scale) const { return threads_of(scale, 16) / 32; }
  unsigned threads_of(const Op& scale, std::int64_t rows) const {
    recording_.reset();
    scale(nullptr, {rows, 64}, fake_address(256), fake_address(256), 1.0);
    return recording_.launches().at(0).block[0];
  }
  void tune_with_16_warps(const std::string& path) const {
    SampleCache(path).add_winner(scale_interface(), "scale[dtype=f16]{rows=16,cols=64}",
                                 "wide{num_warps=16,vec=8,static_dims=1}");
  }

  /// Tunes in another process, which writes last: it would remove the log if it believed to be the only user.
  void tune_elsewhere(std::int64_t rows) const {
    const std::string command = "'" TILEWRIGHT_WRITE_SAMPLE_CACHE "' '" + cache_path() +
                                "' 'scale[dtype=f16]{rows=" + std::to_string(rows) +
                                ",cols=64}' 'wide{num_warps=16,vec=8,static_dims=1}'";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

  const Launcher launcher_{filled_cache()};
  const Op scale_ = launcher_.op("scale[dtype=f16]");
};

TEST_F(RefreshTest, a_new_winner_serves_after_a_refresh_and_not_before) {
  EXPECT_EQ(threads(), 64U) << "the winner of the shape nearest";
  tune_with_16_warps(cache_path());
  EXPECT_EQ(threads(), 64U);
  launcher_.refresh();
  EXPECT_EQ(threads(), 512U);
}

TEST_F(RefreshTest, launches_have_nothing_to_look_up_after_a_refresh) {
  EXPECT_EQ(threads(), 64U);
  tune_with_16_warps(cache_path());
  launcher_.refresh();
  EXPECT_EQ(threads(), 512U);
  EXPECT_EQ(recording_.calls("cuKernelGetFunction"), 0U) << "the refresh has made their plans";
}

TEST_F(RefreshTest, no_launch_waits_while_a_refresh_makes_plans) {
  EXPECT_EQ(threads(), 64U);
  tune_with_16_warps(cache_path());
  recording_.reset();
  recording_.hold("cuKernelGetFunction", true);
  std::thread refreshing([&] { launcher_.refresh(); });
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (recording_.calls("cuKernelGetFunction") == 0 && std::chrono::steady_clock::now() < late) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(recording_.calls("cuKernelGetFunction"), 1U) << "the refresh is under way";
  EXPECT_EQ(threads(), 64U) << "as before";
  recording_.hold("cuKernelGetFunction", false);
  refreshing.join();
  EXPECT_EQ(threads(), 512U);
}

TEST_F(RefreshTest, a_refresh_is_of_every_context_and_leaves_the_callers_as_it_is) {
  EXPECT_EQ(threads(), 64U);
  tune_with_16_warps(cache_path());
  ASSERT_EQ(driver_.table().ctx_set_current(nullptr), cuda::kSuccess);
  launcher_.refresh();
  cuda::Context current = nullptr;
  ASSERT_EQ(driver_.table().ctx_get_current(&current), cuda::kSuccess);
  EXPECT_EQ(current, nullptr);
  context_.make_current();
  EXPECT_EQ(threads(), 512U);
  EXPECT_EQ(recording_.calls("cuKernelGetFunction"), 0U);
}

TEST_F(RefreshTest, a_context_that_is_gone_is_passed_over) {
  EXPECT_EQ(threads(), 64U);
  recording_.reset_context(0);
  const cuda::PrimaryContext again(driver_, 0);
  EXPECT_EQ(threads(16), 64U);
  tune_with_16_warps(cache_path());
  launcher_.refresh();
  EXPECT_EQ(threads(), 512U);
  EXPECT_EQ(recording_.calls("cuKernelGetFunction"), 0U);
}

TEST_F(RefreshTest, what_nothing_serves_any_more_is_an_error_at_its_next_launch) {
  EXPECT_EQ(threads(), 64U);
  const std::string newer = (folder_.path() / "newer.db").string();
  SampleCache(newer).add_reduce();
  std::filesystem::rename(newer, cache_path());
  launcher_.refresh();
  EXPECT_THAT(failure(TW_ERROR_NO_MATCH, [&] { threads(); }), HasSubstr("no winner and no base"));
}

TEST_F(RefreshTest, an_unchanged_cache_is_not_read_again) {
  EXPECT_EQ(threads(), 64U);
  launcher_.refresh();
  EXPECT_EQ(threads(), 64U);
  EXPECT_EQ(recording_.calls("cuKernelGetFunction"), 0U) << "the plan was kept";
}

TEST_F(RefreshTest, plans_that_new_winners_leave_as_they_are_are_kept) {
  EXPECT_EQ(threads(8), 64U);
  for (std::int64_t rows = 100; rows < 120; ++rows) {
    SampleCache(cache_path())
        .add_winner(scale_interface(), "scale[dtype=f16]{rows=" + std::to_string(rows) + ",cols=64}",
                    "wide{num_warps=16,vec=8,static_dims=1}");
    launcher_.refresh();
    EXPECT_EQ(threads(8), 64U);
    EXPECT_EQ(recording_.calls("cuKernelGetFunction"), 0U) << "the plan was not made anew";
  }
}

TEST_F(RefreshTest, every_refresh_sees_what_a_tuner_of_another_process_wrote) {
  // If a refresh dropped the cache's locks, the next tuner's end would remove the log.
  for (std::int64_t rows = 16; rows <= 20; ++rows) {
    tune_elsewhere(rows);
    launcher_.refresh();
    EXPECT_EQ(threads(rows), 512U) << rows;
    EXPECT_TRUE(std::filesystem::exists(cache_path() + "-wal")) << "taken from under the reader";
  }
}

TEST_F(RefreshTest, a_file_renamed_over_the_cache_is_picked_up) {
  const std::string newer = (folder_.path() / "newer.db").string();
  {
    SampleCache cache(newer);
    cache.add_scale();
  }
  tune_with_16_warps(newer);
  EXPECT_EQ(threads(), 64U);
  std::filesystem::rename(newer, cache_path());
  launcher_.refresh();
  EXPECT_EQ(threads(), 512U);
}

TEST_F(RefreshTest, a_newer_file_that_cannot_be_used_leaves_the_old_one_in_use) {
  const std::string newer = (folder_.path() / "newer.db").string();
  std::ofstream(newer)
      << "this is a text, and one that is long enough to be taken for something, but not for a cache\n";
  std::filesystem::rename(newer, cache_path());
  EXPECT_THAT(failure(TW_ERROR_CACHE, [&] { launcher_.refresh(); }), HasSubstr(cache_path()));
  EXPECT_EQ(threads(), 64U);
  EXPECT_EQ(scale_.match({8, 64}).fit, "exact");
}

TEST_F(RefreshTest, a_cache_that_others_may_write_by_now_is_not_picked_up) {
  EXPECT_EQ(threads(), 64U);
  tune_with_16_warps(cache_path());
  ASSERT_EQ(::chmod(cache_path().c_str(), 0666), 0);
  EXPECT_THAT(failure(TW_ERROR_CACHE, [&] { launcher_.refresh(); }), HasSubstr("can be changed by other users"));
  EXPECT_EQ(threads(), 64U);
}

TEST_F(RefreshTest, a_launcher_that_watches_picks_up_a_newer_cache_by_itself) {
  const Launcher watching(LaunchOptions{.cache = cache_path(), .device = {}, .watch_ms = 5});
  const Op scale = watching.op("scale[dtype=f16]");
  EXPECT_EQ(warps(scale), 2U);
  EXPECT_EQ(threads(), 64U);
  tune_with_16_warps(cache_path());
  EXPECT_TRUE(within_a_minute([&] { return warps(scale) == 16; }));
  EXPECT_EQ(threads(), 64U) << "the other launcher does not watch";
}

TEST_F(RefreshTest, a_watch_survives_a_cache_that_cannot_be_used) {
  const auto moved_here = [this](const std::string& newer) { std::filesystem::rename(newer, cache_path()); };
  const std::string newer = (folder_.path() / "newer.db").string();
  const Launcher watching(LaunchOptions{.cache = cache_path(), .device = {}, .watch_ms = 2});
  const Op scale = watching.op("scale[dtype=f16]");
  std::ofstream(newer) << "this is a text, and one that is long enough to be taken for something, but no cache\n";
  const Opened damaged(newer);
  moved_here(newer);
  ASSERT_TRUE(within_a_minute([&] { return damaged.yet(); })) << "the watch has not looked";
  EXPECT_EQ(warps(scale), 2U) << "as before";

  SampleCache(newer).add_scale();
  tune_with_16_warps(newer);
  moved_here(newer);
  EXPECT_TRUE(within_a_minute([&] { return warps(scale) == 16; })) << "the watch has ended";
}

TEST_F(RefreshTest, an_interval_below_zero_is_refused) {
  EXPECT_THAT(
      failure(TW_ERROR_USAGE, [&] { Launcher(LaunchOptions{.cache = cache_path(), .device = {}, .watch_ms = -1}); }),
      HasSubstr("watch_ms is -1"));
}

}  // namespace
}  // namespace tilewright
