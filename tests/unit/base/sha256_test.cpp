// SPDX-License-Identifier: Apache-2.0
#include "cache/base/sha256.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "cache/base/error.hpp"
#include "tests/temporary_folder.hpp"

namespace tilewright::sha256_test {
namespace {

// Expected values: examples of FIPS 180-4, and sha256sum for lengths around a block's end.
TEST(Sha256, is_that_of_the_standard) {
  EXPECT_EQ(sha256_text(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_text("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_text(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hexadecimal, has_two_digits_for_each_byte) {
  EXPECT_EQ(hexadecimal({}), "");
  EXPECT_EQ(hexadecimal(std::array<unsigned char, 4>{0, 9, 0xab, 0xff}), "0009abff");
  EXPECT_TRUE(is_hexadecimal("0009abff", 8));
  for (const char* text : {"0009abf", "0009ABFF", "0009abfg"}) EXPECT_FALSE(is_hexadecimal(text, 8)) << text;
}

TEST(Sha256, of_a_file_is_that_of_its_bytes) {
  const test::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 3'000'001; ++i) text.push_back(static_cast<char>(i * 7 + i / 256));
  std::ofstream(folder / "file", std::ios::binary) << text;
  EXPECT_EQ(sha256_file(folder / "file"), sha256_text(text));
  EXPECT_THROW(static_cast<void>(sha256_file(folder / "none")), CacheError);
}

}  // namespace
}  // namespace tilewright::sha256_test
