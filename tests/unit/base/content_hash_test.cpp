// SPDX-License-Identifier: Apache-2.0
#include "cache/base/content_hash.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tilewright::content_hash_test {
namespace {

TEST(ContentHash, is_xxh3_128_as_published) {
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(content_hash("abc"), "06b05ab6733a618578af5f94892f3950");
}

TEST(ContentHash, has_32_digits_and_no_gaps_for_leading_zeros) {
  for (int i = 0; i < 600; ++i) {
    const std::string hash = content_hash(std::to_string(i));
    EXPECT_EQ(hash.size(), 32U);
    EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos) << hash;
  }
}

TEST(ContentHash, is_of_the_bytes_however_they_are_given) {
  const std::array<std::byte, 4> bytes{std::byte{'a'}, std::byte{0}, std::byte{0xff}, std::byte{'b'}};
  EXPECT_EQ(content_hash(bytes), content_hash(std::string_view("a\0\xff"
                                                               "b",
                                                               4)));
  EXPECT_NE(content_hash(bytes), content_hash("a"));
}

}  // namespace
}  // namespace tilewright::content_hash_test
