// SPDX-License-Identifier: Apache-2.0
#include "cache/store/sqlite/first_bytes.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/store/fixture.hpp"

namespace tilewright::first_bytes_test {
namespace {

using namespace store_tests;

TEST(FirstBytes, are_what_a_file_begins_with) {
  const TemporaryFolder folder;
  write_file(folder / "text", "a text");
  EXPECT_EQ(first_bytes(folder / "text", 3), "a t");
  EXPECT_EQ(first_bytes(folder / "text", 6), "a text");
  EXPECT_EQ(first_bytes(folder / "text", 7), "");
  EXPECT_EQ(first_bytes(folder / "absent", 3), "");
  EXPECT_EQ(first_bytes(folder.path(), 3), "");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(first_bytes(folder / "pipe", 3), "") << "without waiting for its other end";
}

TEST(FirstBytes, of_an_open_cache_leave_it_its_locks) {
  const TemporaryFolder folder;
  const Store store = prepared_store(folder / "c.db");
  EXPECT_EQ(first_bytes(folder / "c.db", 6), "SQLite");
  EXPECT_EQ(first_bytes(folder / "c.db", 6), "SQLite");
  // An open-file lock conflicts with this process's own locks, too.
  const int file = ::open((folder / "c.db").c_str(), O_RDWR | O_CLOEXEC);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  ASSERT_EQ(::fcntl(file, F_OFD_GETLK, &whole), 0);
  EXPECT_EQ(whole.l_type, F_RDLCK) << "a tuner that ends would take the log from under the reader";
  ::close(file);
}

}  // namespace
}  // namespace tilewright::first_bytes_test
