// SPDX-License-Identifier: Apache-2.0
#include "tuner/snapshot/shelf.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "cache/base/error.hpp"
#include "cache/store/pack/sha256.hpp"
#include "tests/temporary_folder.hpp"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Shelves : public ::testing::Test {
 protected:
  /// Puts a snapshot with this text; returns its hash.
  std::string put(const std::string& text) {
    const auto file = folder / "file";
    std::ofstream(file, std::ios::binary) << text;
    const std::string hash = sha256_of(file);
    shelf.put_snapshot(file, hash);
    return hash;
  }
  [[nodiscard]] static SignedManifest of(const std::string& hash, std::int64_t sequence, std::int64_t bytes,
                                         const char* channel = "stable") {
    return {{channel, sequence, hash, bytes, std::string(32, 'b'), 7, "0.1.0", 1}, std::string(128, 'c')};
  }
  [[nodiscard]] static std::string read(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  }

  const test::TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path();
  Shelf shelf{folder / "shelf"};
};

TEST_F(Shelves, numbers_of_a_channel_only_grow) {
  const std::string hash = put("one");
  EXPECT_EQ(shelf.manifest("stable"), std::nullopt);
  EXPECT_EQ(shelf.take_manifest(of(hash, 2, 3)), Shelf::Taken::taken);
  EXPECT_EQ(shelf.take_manifest(of(hash, 2, 3)), Shelf::Taken::known);
  SignedManifest replayed = of(put("two"), 2, 3);
  EXPECT_EQ(shelf.take_manifest(replayed), Shelf::Taken::stale);
  replayed.manifest.sequence = 1;
  EXPECT_EQ(shelf.take_manifest(replayed), Shelf::Taken::stale);
  EXPECT_EQ(shelf.manifest("stable")->manifest.snapshot, hash);
  replayed.manifest.sequence = 3;
  EXPECT_EQ(shelf.take_manifest(replayed), Shelf::Taken::taken);
  EXPECT_EQ(shelf.take_manifest(of(hash, 1, 3, "candidate")), Shelf::Taken::taken);
  EXPECT_THAT(shelf.channels(), ElementsAre("candidate", "stable"));
}

TEST_F(Shelves, a_manifest_needs_its_snapshot) {
  EXPECT_EQ(shelf.take_manifest(of(std::string(64, 'a'), 1, 3)), Shelf::Taken::no_snapshot);
  EXPECT_EQ(shelf.take_manifest(of(put("one"), 1, 4)), Shelf::Taken::no_snapshot);
  EXPECT_EQ(shelf.manifest("stable"), std::nullopt);
}

TEST_F(Shelves, a_snapshot_comes_in_pieces_and_goes_on_where_it_was) {
  std::ofstream(folder / "whole", std::ios::binary) << "abcdef";
  const std::string hash = sha256_of(folder / "whole");
  EXPECT_EQ(shelf.take_piece(hash, 6, 2, "cd"), Shelf::Piece::other);
  EXPECT_EQ(shelf.take_piece(hash, 6, 0, "ab"), Shelf::Piece::taken);
  EXPECT_EQ(shelf.take_piece(hash, 6, 0, "abc"), Shelf::Piece::taken) << "begun anew";
  EXPECT_EQ(Shelf(folder / "shelf").received(hash), 3U);
  EXPECT_EQ(shelf.take_piece(hash, 6, 3, "defg"), Shelf::Piece::other) << "more than it has";
  EXPECT_FALSE(shelf.snapshot(hash));
  EXPECT_EQ(shelf.take_piece(hash, 6, 3, "def"), Shelf::Piece::whole);
  EXPECT_EQ(read(shelf.snapshot(hash).value()), "abcdef");
  EXPECT_EQ(shelf.take_piece(hash, 6, 0, "xyz"), Shelf::Piece::whole) << "never changed";
  EXPECT_EQ(read(shelf.snapshot(hash).value()), "abcdef");
}

TEST_F(Shelves, bytes_that_are_not_the_hashs_are_forgotten) {
  const std::string hash(64, 'a');
  EXPECT_EQ(shelf.take_piece(hash, 3, 0, "abc"), Shelf::Piece::wrong);
  EXPECT_FALSE(shelf.snapshot(hash));
  EXPECT_EQ(shelf.received(hash), 0U);
}

TEST_F(Shelves, what_never_comes_to_its_end_takes_no_room_for_ever) {
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(shelf.take_piece(fmt::format("{:064x}", i), 10, 0, "abc"), Shelf::Piece::taken);
  }
  std::size_t parts = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder / "shelf" / "v1" / "blobs")) {
    parts += each.path().extension() == ".part" ? 1 : 0;
  }
  EXPECT_EQ(parts, 4U);
}

TEST_F(Shelves, the_newest_snapshots_stay_and_those_that_a_channel_points_at) {
  const std::string first = put("first");
  ASSERT_EQ(shelf.take_manifest(of(first, 1, 5)), Shelf::Taken::taken);
  std::string second;
  for (int i = 0; i < 20; ++i) {
    const std::string hash = put(fmt::format("{:05}", i));
    if (i == 0) second = hash;
    // Distinct times, so that there is a newest one.
    const auto past = std::filesystem::file_time_type::clock::now() - std::chrono::minutes(100 - i);
    std::filesystem::last_write_time(shelf.snapshot(hash).value(), past);
    ASSERT_EQ(shelf.take_manifest(of(hash, i + 1, 5, "candidate")), Shelf::Taken::taken);
  }
  EXPECT_TRUE(shelf.snapshot(first));
  EXPECT_FALSE(shelf.snapshot(second));
}

TEST_F(Shelves, what_was_just_written_stays_although_the_clock_was_set_back) {
  const auto hurry = [&] {
    for (const auto& each : std::filesystem::directory_iterator(folder / "shelf" / "v1" / "blobs")) {
      std::filesystem::last_write_time(each, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
    }
  };
  for (int i = 0; i < 16; ++i) put(fmt::format("{:05}", i));
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(shelf.take_piece(fmt::format("{:064x}", i), 10, 0, "abc"), Shelf::Piece::taken);
  }
  hurry();
  std::ofstream(folder / "whole", std::ios::binary) << "abcdef";
  const std::string hash = sha256_of(folder / "whole");
  EXPECT_EQ(shelf.take_piece(hash, 6, 0, "abc"), Shelf::Piece::taken);
  EXPECT_EQ(shelf.received(hash), 3U);
  EXPECT_EQ(shelf.take_piece(hash, 6, 3, "def"), Shelf::Piece::whole);
  EXPECT_EQ(shelf.take_manifest(of(hash, 1, 6)), Shelf::Taken::taken);
}

TEST_F(Shelves, no_name_leads_out_of_the_folder) {
  for (const char* name : {"../channels/stable", "..", "", "A"}) {
    EXPECT_THROW(static_cast<void>(shelf.snapshot(name)), UsageError) << name;
    EXPECT_THROW(static_cast<void>(shelf.manifest(name)), UsageError) << name;
    EXPECT_THROW(static_cast<void>(shelf.take_piece(name, 3, 0, "abc")), UsageError) << name;
  }
}

TEST_F(Shelves, a_channel_that_is_damaged_is_told_and_kept) {
  ASSERT_EQ(shelf.take_manifest(of(put("one"), 1, 3)), Shelf::Taken::taken);
  std::ofstream(folder / "shelf" / "v1" / "channels" / "stable") << "{";
  EXPECT_THAT([&] { static_cast<void>(shelf.manifest("stable")); }, ThrowsMessage<Error>(HasSubstr("is damaged")));
  EXPECT_EQ(read(folder / "shelf" / "v1" / "channels" / "stable"), "{");
}

TEST_F(Shelves, a_channel_that_is_damaged_keeps_no_other_from_a_manifest_and_every_snapshot_that_it_may_need) {
  const std::string first = put("one");
  ASSERT_EQ(shelf.take_manifest(of(first, 1, 3)), Shelf::Taken::taken);
  std::ofstream(folder / "shelf" / "v1" / "channels" / "stable") << "{";
  for (std::size_t i = 0; i <= kKeptSnapshots; ++i) put(fmt::format("{:05}", i));
  EXPECT_EQ(shelf.take_manifest(of(put("next"), 1, 4, "candidate")), Shelf::Taken::taken);
  EXPECT_TRUE(shelf.snapshot(first));
}

}  // namespace
}  // namespace tilewright
