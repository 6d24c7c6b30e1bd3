// SPDX-License-Identifier: Apache-2.0
#include "cache/store/binaries.hpp"

#include <gtest/gtest.h>

#include <random>

#include "cache/base/content_hash.hpp"
#include "cache/store/codecs.hpp"

namespace tilewright::binaries_test {
namespace {

std::vector<std::byte> sample(std::size_t size) {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 7);
  return bytes;
}

TEST(Binaries, come_back_as_they_went_in_and_are_smaller_between) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, std::size_t{300'000}}) {
    const auto bytes = sample(size);
    const auto frame = compress_binary(bytes);
    EXPECT_EQ(decompress_binary(frame, static_cast<std::int64_t>(size), content_hash(bytes)), bytes);
    if (size > 100) {
      EXPECT_LT(frame.size(), size / 2);
    }
  }
}

TEST(Binaries, come_back_whatever_they_were_packed_for) {
  for (const Packing packing : {Packing::plain, Packing::fast, Packing::tight}) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, std::size_t{300'000}}) {
      const auto bytes = sample(size);
      EXPECT_EQ(decompress_binary(compress_binary(bytes, packing), content_hash(bytes)), bytes)
          << static_cast<int>(packing) << ", " << size;
    }
  }
}

TEST(Binaries, that_are_plain_are_as_large_as_they_are_and_tight_ones_no_larger_than_fast_ones) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, std::size_t{300'000}}) {
    const auto bytes = sample(size);
    const std::size_t plain = compress_binary(bytes, Packing::plain).size();
    EXPECT_GE(plain, size);
    EXPECT_LE(plain, size + size / 1000 + 20);
    EXPECT_LE(compress_binary(bytes, Packing::tight).size(), compress_binary(bytes, Packing::fast).size());
  }
}

TEST(Binaries, every_single_changed_byte_of_a_frame_is_noticed) {
  const auto bytes = sample(500);
  const std::string hash = content_hash(bytes);
  const auto frame = compress_binary(bytes);
  for (std::size_t place = 0; place < frame.size(); ++place) {
    auto changed = frame;
    changed[place] ^= std::byte{0x10};
    try {
      // A bit of the frame's header may be unused: then the content must still be right.
      EXPECT_EQ(decompress_binary(changed, 500, hash), bytes) << place;
    } catch (const BadRow&) {
    }
  }
}

TEST(Binaries, that_claim_more_than_their_frame_can_hold_cost_no_memory) {
  // A frame of one empty block, whose header claims 4 GiB - 1 bytes.
  const std::string head("\x28\xB5\x2F\xFD\xE0\xFF\xFF\xFF\xFF\0\0\0\0\x01\0\0", 16);
  const auto frame = std::as_bytes(std::span(head));
  for (const std::string& padding : {std::string(), std::string(1'000'000, '\0')}) {
    const std::string longer = head + padding;
    try {
      (void)decompress_binary(std::as_bytes(std::span(longer)), 0xFFFF'FFFF, "0123");
      FAIL();
    } catch (const BadRow& error) {
      EXPECT_EQ(std::string(error.what()), "binary 0123: its compressed form claims 4294967295 bytes");
    }
  }
  EXPECT_THROW((void)decompress_binary(frame, "0123"), BadRow);
}

TEST(Binaries, that_claim_just_more_than_their_frame_can_hold_are_refused_for_it) {
  // Claims 32 KiB for each of its 16 bytes, and one more.
  const std::string head("\x28\xB5\x2F\xFD\xE0\x01\0\x08\0\0\0\0\0\x01\0\0", 16);
  try {
    (void)decompress_binary(std::as_bytes(std::span(head)), 16 * 32768 + 1, "0123");
    FAIL();
  } catch (const BadRow& error) {
    EXPECT_EQ(std::string(error.what()), "binary 0123: its compressed form claims 524289 bytes");
  }
}

TEST(Binaries, of_one_byte_many_times_come_back) {
  const std::vector<std::byte> zeros(std::size_t{100} << 20);
  EXPECT_EQ(decompress_binary(compress_binary(zeros), content_hash(zeros)), zeros);
}

TEST(Binaries, a_cut_frame_a_wrong_size_and_a_wrong_hash_are_refused_by_name) {
  const auto bytes = sample(500);
  const std::string hash = content_hash(bytes);
  auto frame = compress_binary(bytes);
  EXPECT_THROW((void)decompress_binary(frame, 501, hash), BadRow);
  EXPECT_THROW((void)decompress_binary(frame, -1, hash), BadRow);
  EXPECT_THROW((void)decompress_binary({}, 500, hash), BadRow);
  try {
    (void)decompress_binary(frame, 500, "0123");
    FAIL();
  } catch (const BadRow& error) {
    EXPECT_EQ(std::string(error.what()), "binary 0123: its content has the hash " + hash);
  }
  frame.resize(frame.size() - 3);
  EXPECT_THROW((void)decompress_binary(frame, 500, hash), BadRow);
}

}  // namespace
}  // namespace tilewright::binaries_test
