// SPDX-License-Identifier: Apache-2.0
// A disk that fails while an application opens, launches and refreshes: the call succeeds or its error says what
// failed; an open cache continues to serve, and the next call works.
#include "tests/faults/failing_disk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace tilewright::testing;

class LaunchOnAFailingDisk : public LaunchFixture {
 protected:
  LaunchOnAFailingDisk() {
    static_cast<void>(filled_cache());
    std::strncpy(disk_.folder, folder_.path().c_str(), sizeof disk_.folder - 1);
  }
  ~LaunchOnAFailingDisk() override { *disk_.folder = '\0'; }

  [[nodiscard]] Launcher open() const {
    const std::string misses = (folder_.path() / "misses").string();
    return Launcher(LaunchOptions{.cache = cache_path(), .device = {}, .misses = misses});
  }
  [[nodiscard]] unsigned threads(const Launcher& launcher, std::int64_t rows) const {
    recording_.reset();
    launcher.op("scale[dtype=f16]")(nullptr, {rows, 64}, fake_address(256), fake_address(256), 1.0);
    return recording_.launches().at(0).block[0];
  }

  /// Does `work` with the n-th call failing, for each n; expects it to succeed or say why, and then to succeed.
  template <class Prepare, class Work>
  void walk(const Prepare& prepare, const Work& work) {
    for (int call = 1;; ++call) {
      for (const bool is_full : {false, true}) {
        SCOPED_TRACE(std::string(is_full ? "full from call " : "broken at call ") + std::to_string(call));
        auto prepared = prepare();
        disk_.calls = 0;
        disk_.failing = call;
        disk_.for_good = is_full;
        disk_.error = is_full ? ENOSPC : EIO;
        try {
          work(prepared);
        } catch (const LaunchError& error) {
          EXPECT_EQ(error.code(), TW_ERROR_CACHE) << error.what();
          EXPECT_THAT(error.what(), HasSubstr(folder_.path().string()));
          EXPECT_THAT(error.what(), Not(HasSubstr("damaged")));
        }
        const int calls = disk_.calls;
        disk_.failing = 0;
        work(prepared);
        if (HasFailure()) return;
        if (calls >= call) continue;
        EXPECT_GT(call, 2) << "the disk is not in the program's way";
        return;
      }
    }
  }

 private:
  FailingDisk& disk_ = *failing_disk();
};

TEST_F(LaunchOnAFailingDisk, opens_and_launches_or_says_why_not) {
  walk([] { return 0; }, [&](int) { EXPECT_EQ(threads(open(), 16), 64U); });
}

TEST_F(LaunchOnAFailingDisk, refreshes_or_goes_on_as_before) {
  int warps = 2;
  const Launcher launcher = open();
  EXPECT_EQ(threads(launcher, 16), 64U);
  walk(
      [&] {
        // Another file replaces the cache; the open one is complete.
        warps = warps == 2 ? 16 : 2;
        const std::string newer = (folder_.path() / "newer.db").string();
        {
          SampleCache cache(newer);
          cache.add_scale();
          cache.add_winner(scale_interface(), "scale[dtype=f16]{rows=16,cols=64}",
                           "wide{num_warps=" + std::to_string(warps) + ",vec=8,static_dims=1}");
        }
        const unsigned before = threads(launcher, 16);
        std::filesystem::rename(newer, cache_path());
        return before;
      },
      [&](unsigned before) {
        try {
          launcher.refresh();
        } catch (const LaunchError&) {
          EXPECT_EQ(threads(launcher, 16), before) << "what served before";
          throw;
        }
        EXPECT_EQ(threads(launcher, 16), static_cast<unsigned>(32 * warps));
      });
}

}  // namespace
}  // namespace tilewright
