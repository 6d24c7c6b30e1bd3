// SPDX-License-Identifier: Apache-2.0
#include "cache/base/error.hpp"

#include <gtest/gtest.h>

namespace tilewright::error_test {
namespace {

TEST(Error, a_diagnostic_reads_as_compilers_print_it) {
  EXPECT_EQ((Diagnostic{"softmax.toml", 3, 14, "unknown key"}).text(), "softmax.toml:3:14: unknown key");
  EXPECT_EQ((Diagnostic{"softmax.toml", 0, 0, "cannot be read"}).text(), "softmax.toml: cannot be read");
}

TEST(Error, a_definition_error_keeps_every_mistake_and_has_one_line_for_each) {
  const DefinitionError error({{"a.toml", 1, 2, "first"}, {"a.toml", 9, 1, "second"}});
  EXPECT_STREQ(error.what(), "a.toml:1:2: first\na.toml:9:1: second");
  ASSERT_EQ(error.mistakes().size(), 2U);
  EXPECT_EQ(error.mistakes()[1].line, 9);
  EXPECT_NE(dynamic_cast<const UsageError*>(static_cast<const Error*>(&error)), nullptr);
}

TEST(Error, codes_of_the_environment_are_kept) {
  EXPECT_EQ(CacheError("locked", 5).code(), 5);
  EXPECT_EQ(CacheError("odd").code(), 0);
  EXPECT_EQ(DeviceError("illegal address", 700).status(), 700);
  EXPECT_EQ(DeviceError("no driver").status(), 0);
}

TEST(Error, the_nearest_name_is_the_one_with_the_fewest_changes) {
  EXPECT_EQ(nearest_name("sofmax", {"gemm", "softmax", "softmin"}), "softmax");
  EXPECT_EQ(nearest_name("colz", {"rows", "cols"}), "cols");
  EXPECT_EQ(nearest_name("rwos", {"rows", "cols"}), "rows");
  EXPECT_EQ(nearest_name("cols", {"cols"}), "cols");
  EXPECT_EQ(nearest_name("shared_per_block_option", {"shared_per_sm", "shared_per_block_optin"}),
            "shared_per_block_optin");
}

TEST(Error, what_is_far_is_not_suggested) {
  EXPECT_EQ(nearest_name("attention", {"softmax", "gemm"}), "");
  EXPECT_EQ(nearest_name("fp8", {"f32", "f16", "bf16"}), "") << "two of three letters differ";
  EXPECT_EQ(nearest_name("f23", {"f16", "f32"}), "f32") << "letters that were exchanged";
  EXPECT_EQ(nearest_name("softmax", {}), "");
  EXPECT_EQ(nearest_name("abcd", {"wxyz"}), "");
}

TEST(Error, a_word_of_which_no_letter_stays_is_not_near) {
  EXPECT_EQ(nearest_name("z", {"m", "n", "k"}), "");
  EXPECT_EQ(nearest_name("xy", {"ab"}), "");
  EXPECT_EQ(nearest_name("", {"ab"}), "");
  EXPECT_EQ(nearest_name("mm", {"m", "n"}), "m");
}

TEST(Error, a_suggestion_lists_what_is_known_when_nothing_is_near) {
  EXPECT_EQ(suggestion("sofmax", {"gemm", "softmax"}), "; did you mean 'softmax'?");
  EXPECT_EQ(suggestion("attention", {"gemm", "softmax"}), "; known: gemm, softmax");
  EXPECT_EQ(suggestion("attention", {}), "; there are none");
}

}  // namespace
}  // namespace tilewright::error_test
