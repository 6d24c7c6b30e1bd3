// SPDX-License-Identifier: Apache-2.0
#include "cache/base/ascii.hpp"

#include <gtest/gtest.h>

namespace tilewright::ascii_test {
namespace {

TEST(Ascii, lower_leaves_all_but_capitals_as_they_are) {
  EXPECT_EQ(lower("ETag: \"@[`{\" \xc3\x84"), "etag: \"@[`{\" \xc3\x84");
}

TEST(Block, base64_is_that_of_the_standard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

}  // namespace
}  // namespace tilewright::ascii_test
