// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/device_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <vector>

#include "cache/base/error.hpp"
#include "tests/temporary_folder.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

class DeviceLockTest : public ::testing::Test {
 protected:
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path();
  const LockPlaces places{folder / "gpus", folder, folder / "own"};
  std::vector<std::string> notes;
  std::function<void(const std::string&)> note = [this](const std::string& line) { notes.push_back(line); };
};

TEST_F(DeviceLockTest, keeps_a_second_tuner_waiting_until_the_first_is_done) {
  std::optional<DeviceLock> first(
      std::in_place, "GPU-1", places, [] { return false; }, note);
  EXPECT_TRUE(notes.empty());
  // The second asks for interrupts while it waits: then the first releases the lock.
  int asked = 0;
  const DeviceLock second(
      "GPU-1", places,
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
      "GPU-1", places, [] { return false; }, note);
  const DeviceLock second(
      "GPU-1", places, [] { return true; }, note);
  EXPECT_TRUE(notes.empty());
}

TEST_F(DeviceLockTest, of_another_gpu_is_free) {
  const DeviceLock first(
      "GPU-1", places, [] { return false; }, note);
  const DeviceLock second(
      "GPU-2", places, [] { return true; }, note);
  EXPECT_TRUE(fs::exists(folder / "own/tilewright-GPU-2.lock"));
}

TEST_F(DeviceLockTest, is_not_needed_by_the_emulator) {
  const DeviceLock lock(
      "", places, [] { return false; }, note);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(DeviceLockTest, that_cannot_be_made_is_told_and_does_not_stop_the_sweep) {
  const DeviceLock lock(
      "GPU-1", {folder / "gpus", folder, folder / "nowhere/own"}, [] { return false; }, note);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes.front().find("cannot be opened for a lock"), std::string::npos);
}

/// The error of a lock in unusable places.
std::string refusal(const LockPlaces& places) {
  try {
    const DeviceLock lock(
        "GPU-1", places, [] { return true; }, [](const std::string&) {});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_F(DeviceLockTest, follows_no_link_that_was_planted_and_names_it) {
  fs::create_directory(folder / "own");
  fs::permissions(folder / "own", fs::perms::owner_all);
  const fs::path planted = folder / "own/tilewright-GPU-1.lock";
  fs::create_symlink(folder / "target", planted);
  EXPECT_NE(refusal(places).find("locking the GPU failed: " + planted.string() + " is not a file of this user alone"),
            std::string::npos)
      << refusal(places);
  EXPECT_FALSE(fs::exists(folder / "target"));
}

TEST_F(DeviceLockTest, takes_no_folder_that_others_may_write_or_that_is_a_link) {
  fs::create_directory(folder / "shared");
  fs::permissions(folder / "shared", fs::perms::all);
  EXPECT_NE(refusal({folder / "gpus", folder, folder / "shared"}).find("shared is not a folder of this user alone"),
            std::string::npos);
  fs::create_directory(folder / "real");
  fs::create_directory_symlink(folder / "real", folder / "link");
  EXPECT_NE(refusal({folder / "gpus", folder, folder / "link"}).find("link is not a folder"), std::string::npos);
}

TEST_F(DeviceLockTest, takes_nothing_for_a_lock_file_that_is_none) {
  fs::create_directory(folder / "own");
  fs::permissions(folder / "own", fs::perms::owner_all);
  const fs::path planted = folder / "own/tilewright-GPU-1.lock";
  ASSERT_EQ(::mkfifo(planted.c_str(), 0600), 0);
  EXPECT_NE(refusal(places).find("is not a file"), std::string::npos);
  fs::remove(planted);
  std::ofstream(planted) << "";
  fs::permissions(planted, fs::perms::all);
  EXPECT_NE(refusal(places).find("is not a file"), std::string::npos);
}

TEST_F(DeviceLockTest, is_the_node_of_the_gpu_where_the_driver_tells_which) {
  fs::create_directories(folder / "gpus/0000:00:06.0");
  std::ofstream(folder / "gpus/0000:00:06.0/information")
      << "Model: \t\t Fictional\nGPU UUID: \t GPU-1\nDevice Minor: \t 3\nGPU Excluded:\t No\n";
  std::ofstream(folder / "nvidia3") << "";
  const DeviceLock first(
      "GPU-1", places, [] { return false; }, note);
  EXPECT_FALSE(fs::exists(folder / "own"));
  const int node = ::open((folder / "nvidia3").c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_EQ(::flock(node, LOCK_EX | LOCK_NB), -1) << "held";
  ::close(node);
  EXPECT_TRUE(notes.empty());
}

TEST(LockPlaces, are_in_the_users_runtime_folder_or_in_one_with_the_users_number) {
  const test::TemporaryFolder temporary;
  fs::permissions(temporary.path(), fs::perms::owner_all);
  ::setenv("XDG_RUNTIME_DIR", temporary.path().c_str(), 1);
  EXPECT_EQ(lock_places().own, temporary.path());
  fs::permissions(temporary.path(), fs::perms::all);
  EXPECT_EQ(lock_places().own, fmt::format("/tmp/tilewright-{}", ::geteuid()));
  ::unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(lock_places().own, fmt::format("/tmp/tilewright-{}", ::geteuid()));
}

}  // namespace
}  // namespace tilewright
