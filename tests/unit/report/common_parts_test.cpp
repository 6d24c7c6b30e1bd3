// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/common_parts.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

using Texts = std::vector<std::string>;

TEST(CommonParts, takes_out_what_all_of_an_implementation_agree_on) {
  Texts texts{"a{x=1,y=2,z=3}", "b{y=2,z=4}", "a{x=1,y=2,z=5}", "b{y=2,z=6}"};
  EXPECT_EQ(take_common_parameters(texts), (Texts{"a{x=1,y=2}", "b{y=2}"}));
  EXPECT_EQ(texts, (Texts{"a{z=3}", "b{z=4}", "a{z=5}", "b{z=6}"}));
}

TEST(CommonParts, leaves_what_is_alone_of_its_implementation) {
  Texts texts{"a{x=1,z=3}", "b{y=2}", "a{x=1,z=5}"};
  EXPECT_EQ(take_common_parameters(texts), Texts{"a{x=1}"});
  EXPECT_EQ(texts, (Texts{"a{z=3}", "b{y=2}", "a{z=5}"}));
}

TEST(CommonParts, leaves_no_empty_braces) {
  Texts texts{"a{x=1}", "a{x=1}"};
  EXPECT_EQ(take_common_parameters(texts), Texts{"a{x=1}"});
  EXPECT_EQ(texts, (Texts{"a", "a"}));
}

TEST(CommonParts, leaves_what_is_no_config) {
  Texts texts{"-", "a{x=1}", "a{x=2}", "not { one"};
  EXPECT_TRUE(take_common_parameters(texts).empty());
  EXPECT_EQ(texts, (Texts{"-", "a{x=1}", "a{x=2}", "not { one"}));
}

}  // namespace
}  // namespace tilewright
