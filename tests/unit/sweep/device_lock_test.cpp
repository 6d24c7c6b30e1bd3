// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/device_lock.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/temporary_folder.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

class DeviceLockTest : public ::testing::Test {
 protected:
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path();
  std::vector<std::string> notes;
  std::function<void(const std::string&)> note = [this](const std::string& line) { notes.push_back(line); };
};

TEST_F(DeviceLockTest, keeps_a_second_tuner_waiting_until_the_first_is_done) {
  std::optional<DeviceLock> first(
      std::in_place, "GPU-1", folder, [] { return false; }, note);
  EXPECT_TRUE(notes.empty());
  // The second asks whether it is interrupted while it waits: then the first lets go.
  int asked = 0;
  const DeviceLock second(
      "GPU-1", folder,
      [&] {
        if (++asked == 2) first.reset();
        return asked > 50;
      },
      note);
  EXPECT_GE(asked, 2);
  EXPECT_LT(asked, 10);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes.front().find("GPU-1"), std::string::npos);
}

TEST_F(DeviceLockTest, gives_up_waiting_when_interrupted) {
  const DeviceLock first(
      "GPU-1", folder, [] { return false; }, note);
  const DeviceLock second(
      "GPU-1", folder, [] { return true; }, note);
  EXPECT_TRUE(notes.empty());
}

TEST_F(DeviceLockTest, of_another_gpu_is_free) {
  const DeviceLock first(
      "GPU-1", folder, [] { return false; }, note);
  const DeviceLock second(
      "GPU-2", folder, [] { return true; }, note);
  EXPECT_TRUE(fs::exists(folder / "tilewright-GPU-2.lock"));
}

TEST_F(DeviceLockTest, is_not_needed_by_the_emulator) {
  const DeviceLock lock(
      "", folder, [] { return false; }, note);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(DeviceLockTest, that_cannot_be_made_is_told_and_does_not_stop_the_sweep) {
  const DeviceLock lock(
      "GPU-1", folder / "nowhere", [] { return false; }, note);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes.front().find("cannot be made"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
