// SPDX-License-Identifier: Apache-2.0
#include "cache/base/file_facts.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/store/fixture.hpp"

namespace tilewright::file_facts_test {
namespace {

namespace fs = std::filesystem;
using namespace store_tests;

TEST(FileFacts, network_file_systems_are_known_by_their_numbers) {
  EXPECT_EQ(network_filesystem(0x6969), "NFS");
  EXPECT_EQ(network_filesystem(0xFF534D42), "CIFS");
  EXPECT_EQ(network_filesystem(0xFE534D42), "SMB");
  EXPECT_EQ(network_filesystem(0x517B), "SMB");
  EXPECT_EQ(network_filesystem(0x0BD00BD0), "Lustre");
  // Sign-extended from a 32-bit field.
  EXPECT_EQ(network_filesystem(static_cast<std::int32_t>(0xFF534D42)), "CIFS");
}

TEST(FileFacts, local_file_systems_are_not_network_ones) {
  for (const std::int64_t magic : {0xEF53L /* ext4 */, 0x58465342L /* xfs */, 0x9123683EL /* btrfs */,
                                   0x01021994L /* tmpfs */, 0x794C7630L /* overlay */, 0L}) {
    EXPECT_EQ(network_filesystem(magic), std::nullopt) << magic;
  }
  const TemporaryFolder folder;
  EXPECT_EQ(network_filesystem_of(folder / "not/there/yet.db"), std::nullopt);
  EXPECT_EQ(network_filesystem_of("relative.db"), std::nullopt);
}

TEST(FileFacts, a_file_and_folder_of_the_owner_alone_are_not_writable_by_others) {
  const TemporaryFolder folder;
  write_file(folder / "c.db", "x");
  fs::permissions(folder / "c.db", fs::perms(0644));
  EXPECT_FALSE(writable_by_others(folder / "c.db"));
  EXPECT_FALSE(writable_by_others(folder / "absent.db"));
}

TEST(FileFacts, a_file_or_a_wal_that_all_may_write_is_writable_by_others) {
  const TemporaryFolder folder;
  write_file(folder / "c.db", "x");
  fs::permissions(folder / "c.db", fs::perms(0646));
  EXPECT_TRUE(writable_by_others(folder / "c.db"));
  fs::permissions(folder / "c.db", fs::perms(0644));
  write_file(folder / "c.db-wal", "x");
  fs::permissions(folder / "c.db-wal", fs::perms(0666));
  EXPECT_TRUE(writable_by_others(folder / "c.db"));
}

TEST(FileFacts, a_folder_that_all_may_write_counts_unless_it_is_sticky) {
  const TemporaryFolder folder;
  write_file(folder / "c.db", "x");
  fs::permissions(folder / "c.db", fs::perms(0644));
  fs::permissions(folder.path(), fs::perms(0777));
  EXPECT_TRUE(writable_by_others(folder / "c.db"));
  fs::permissions(folder.path(), fs::perms(01777));
  EXPECT_FALSE(writable_by_others(folder / "c.db"));
}

TEST(FileFacts, a_link_is_judged_by_the_folder_of_the_file_as_well) {
  const TemporaryFolder open_folder, closed_folder;
  write_file(open_folder / "c.db", "x");
  fs::create_symlink(open_folder / "c.db", closed_folder / "link.db");
  EXPECT_FALSE(writable_by_others(closed_folder / "link.db"));
  fs::permissions(open_folder.path(), fs::perms(0777));
  EXPECT_TRUE(writable_by_others(closed_folder / "link.db"));
}

TEST(FileFacts, a_link_is_judged_by_the_wal_beside_the_file_as_well) {
  const TemporaryFolder of_file, of_link;
  write_file(of_file / "c.db", "x");
  write_file(of_file / "c.db-wal", "x");
  fs::permissions(of_file / "c.db-wal", fs::perms(0644));
  fs::create_symlink(of_file / "c.db", of_link / "link.db");
  EXPECT_FALSE(writable_by_others(of_link / "link.db"));
  fs::permissions(of_file / "c.db-wal", fs::perms(0666));
  EXPECT_TRUE(writable_by_others(of_link / "link.db"));
}

TEST(FileFacts, the_owners_private_group_is_not_others_and_any_other_group_is) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give a file away";
  const TemporaryFolder folder;
  const fs::path file = folder / "c.db";
  write_file(file, "x");
  fs::permissions(file, fs::perms(0664));
  ASSERT_EQ(::chown(file.c_str(), 1234, 1234), 0);
  EXPECT_FALSE(writable_by_others(file));
  ASSERT_EQ(::chown(file.c_str(), 1234, 100), 0);
  EXPECT_TRUE(writable_by_others(file));
}

TEST(FileFacts, identity_tells_a_file_from_its_replacement_and_its_next_state) {
  const TemporaryFolder folder;
  EXPECT_EQ(identity_of(folder / "c.db"), std::nullopt);
  write_file(folder / "c.db", "x");
  const auto first = identity_of(folder / "c.db");
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(identity_of(folder / "c.db"), first);
  write_file(folder / "c.db", "longer");
  const auto grown = identity_of(folder / "c.db");
  EXPECT_NE(grown, first);
  EXPECT_TRUE(grown->same_file(*first));
  write_file(folder / "new.db", "x");
  fs::rename(folder / "new.db", folder / "c.db");
  EXPECT_FALSE(identity_of(folder / "c.db")->same_file(*first));
}

}  // namespace
}  // namespace tilewright::file_facts_test
