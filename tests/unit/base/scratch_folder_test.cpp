// SPDX-License-Identifier: Apache-2.0
#include "cache/base/scratch_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "tests/temporary_folder.hpp"

namespace tilewright::scratch_folder_test {
namespace {

namespace fs = std::filesystem;

class ScratchFolders : public testing::Test {
 protected:
  ScratchFolders() { ::setenv("TMPDIR", place.path().c_str(), 1); }
  ~ScratchFolders() override { ::unsetenv("TMPDIR"); }

  static void age(const fs::path& path, std::chrono::minutes by) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - by);
  }

  const test::TemporaryFolder place;
};

TEST_F(ScratchFolders, are_the_users_alone_and_gone_with_their_object) {
  fs::path path;
  {
    const ScratchFolder folder("test");
    path = folder.path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    std::ofstream(path / "file") << "x";
  }
  EXPECT_TRUE(fs::is_empty(place.path()));
}

TEST_F(ScratchFolders, that_a_killed_process_left_behind_are_removed_when_they_are_old) {
  const pid_t child = ::fork();
  if (child == 0) {
    const ScratchFolder folder("test");
    std::ofstream(folder.path() / "file") << "x";
    ::raise(SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  ASSERT_EQ(std::distance(fs::directory_iterator(place.path()), {}), 1);
  const fs::path left = fs::directory_iterator(place.path())->path();
  remove_abandoned(place.path());
  EXPECT_TRUE(fs::exists(left)) << "too young";
  age(left, std::chrono::minutes(61));
  remove_abandoned(place.path());
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(ScratchFolders, of_living_processes_and_of_others_stay) {
  const ScratchFolder held("test");
  const fs::path target = place.path() / "target";
  const fs::path link = place.path() / "tilewright-scratch-link";
  const fs::path other = place.path() / "tilewright-other";
  fs::create_directory(target);
  fs::create_directory_symlink(target, link);
  fs::create_directory(other);
  for (const fs::path& path : {held.path(), target, other}) age(path, std::chrono::hours(48));
  remove_abandoned(place.path());
  for (const fs::path& path : {held.path(), target, link, other}) EXPECT_TRUE(fs::exists(fs::symlink_status(path)));
}

}  // namespace
}  // namespace tilewright::scratch_folder_test
