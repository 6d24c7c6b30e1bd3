// SPDX-License-Identifier: Apache-2.0
#include "cache/model/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/base/error.hpp"
#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::config_test {
namespace {

using test::error_of;
using ::testing::HasSubstr;

std::string complaint(const std::string& text) {
  return error_of<UsageError>([&] { (void)Config::parse(text); });
}

TEST(Config, reads_back_its_canonical_text) {
  const Config config{"onchip", {{"num_warps", 4}, {"vec", 8}, {"offset", -3}, {"static_dims", 1}}};
  EXPECT_EQ(config.text(), "onchip{num_warps=4,vec=8,offset=-3,static_dims=1}");
  EXPECT_EQ(Config::parse(config.text()), config);
  const Config bare{"online", {}};
  EXPECT_EQ(bare.text(), "online{}");
  EXPECT_EQ(Config::parse("online{}"), bare);
}

TEST(Config, is_read_with_spaces_and_without_braces) {
  EXPECT_EQ(Config::parse(" onchip { vec = 8, num_warps=4 } ").text(), "onchip{vec=8,num_warps=4}");
  EXPECT_EQ(Config::parse("online").text(), "online{}");
}

TEST(Config, order_of_parameters_counts) { EXPECT_NE(Config::parse("a{x=1,y=2}"), Config::parse("a{y=2,x=1}")); }

TEST(Config, finds_its_values) {
  const Config config = Config::parse("onchip{vec=8,static_dims=1}");
  EXPECT_EQ(config.find("vec"), 8);
  EXPECT_EQ(config.find("num_warps"), std::nullopt);
  EXPECT_EQ(config.value_or("vec", 1), 8);
  EXPECT_EQ(config.value_or("num_warps", 1), 1);
}

TEST(Config, is_specialised_where_static_dims_is_set) {
  EXPECT_TRUE(Config::parse("a{static_dims=1}").specialised());
  EXPECT_FALSE(Config::parse("a{static_dims=0}").specialised());
  EXPECT_FALSE(Config::parse("a{vec=1}").specialised());
}

TEST(Config, names_the_place_of_a_mistake) {
  EXPECT_EQ(complaint(""), "config '', column 1: expected the name of an implementation");
  EXPECT_EQ(complaint("onchip{vec=wide}"), "config 'onchip{vec=wide}', column 12: vec is 'wide', not a whole number");
  EXPECT_EQ(complaint("onchip{vec=8.0}"), "config 'onchip{vec=8.0}', column 12: vec is '8.0', not a whole number");
  EXPECT_EQ(complaint("onchip{vec=+8}"), "config 'onchip{vec=+8}', column 12: vec is '+8', not a whole number");
  EXPECT_THAT(complaint("onchip{vec=9223372036854775808}"),
              HasSubstr("column 12: vec is '9223372036854775808', beyond"));
  EXPECT_THAT(complaint("onchip{vec=1,vec=2}"), HasSubstr("column 14: 'vec' is given twice"));
  EXPECT_THAT(complaint("onchip{vec=1"), HasSubstr("column 13: expected ','"));
  EXPECT_THAT(complaint("onchip{vec=1}{}"), HasSubstr("column 14: unexpected '{}'"));
}

TEST(Config, holds_every_number_of_64_bits) {
  const std::string least = "a{x=-9223372036854775808}";
  EXPECT_EQ(Config::parse(least).text(), least);
  EXPECT_EQ(Config::parse("a{x=9223372036854775807}").find("x"), 9223372036854775807);
}

}  // namespace
}  // namespace tilewright::config_test
