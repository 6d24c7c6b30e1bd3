// SPDX-License-Identifier: Apache-2.0
#include "cache/base/descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/temporary_folder.hpp"

namespace tilewright::descriptor_test {
namespace {

class Descriptors : public ::testing::Test {
 protected:
  [[nodiscard]] Descriptor open(int flags = O_RDWR | O_CREAT) const {
    return Descriptor(::open(file().c_str(), flags | O_CLOEXEC, 0600));
  }
  [[nodiscard]] std::filesystem::path file() const { return folder_ / "file"; }
  [[nodiscard]] static bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

 private:
  const test::TemporaryFolder folder_;
};

TEST_F(Descriptors, are_closed_once_by_their_last_owner) {
  int number = -1;
  {
    Descriptor first = open();
    number = first.get();
    Descriptor second = std::move(first);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): tests the state after the move
    EXPECT_TRUE(is_open(number));
    Descriptor other = open();
    const int replaced = other.get();
    other = std::move(second);
    EXPECT_EQ(other.get(), number);
    EXPECT_FALSE(is_open(replaced)) << "what it had is closed at once";
  }
  EXPECT_FALSE(is_open(number));
}

TEST_F(Descriptors, write_all_of_it_or_say_why_not) {
  EXPECT_TRUE(open().write("whole"));
  std::ifstream stream(file());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "whole");
  EXPECT_FALSE(open(O_RDONLY).write("more"));
  EXPECT_EQ(errno, EBADF);
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_FALSE(full.write("more"));
  EXPECT_EQ(errno, ENOSPC);
}

TEST_F(Descriptors, a_lock_is_held_until_its_owner_goes) {
  Descriptor held = open();
  ASSERT_TRUE(held.lock(LOCK_EX));
  const Descriptor other = open();
  EXPECT_FALSE(other.lock(LOCK_EX | LOCK_NB));
  EXPECT_EQ(errno, EWOULDBLOCK);
  held = Descriptor();
  EXPECT_TRUE(other.lock(LOCK_EX | LOCK_NB));
}

}  // namespace
}  // namespace tilewright::descriptor_test
