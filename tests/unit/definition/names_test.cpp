// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/names.hpp"

#include <gmock/gmock.h>

namespace tilewright::reading {
namespace {

std::string first_mistake(const Mistakes& mistakes) {
  try {
    mistakes.throw_if_any();
    return "";
  } catch (const DefinitionError& error) {
    return error.mistakes().front().message;
  }
}

std::string identifier_mistake(std::string_view name) {
  Mistakes mistakes("f.toml");
  const bool is_well = check_identifier(name, "dim", {1, 1}, mistakes);
  EXPECT_EQ(is_well, mistakes.unusable() == 0);
  return first_mistake(mistakes);
}

std::string claim_mistake(const std::string& name, std::string_view what) {
  Mistakes mistakes("f.toml");
  NameRegistry registry;
  registry.claim("rows", "dim", {1, 1}, mistakes);
  registry.claim("act", "attribute", {1, 1}, mistakes);
  EXPECT_EQ(mistakes.unusable(), 0U);
  registry.claim(name, what, {2, 1}, mistakes);
  return first_mistake(mistakes);
}

TEST(Identifier, may_be_what_C_allows) {
  for (const char* name : {"n", "rows2", "block_m", "K", "a_"}) EXPECT_EQ(identifier_mistake(name), "") << name;
}

TEST(Identifier, may_not_be_other_text) {
  for (const char* name : {"", "2d", "block-m", "a b", "größe", "a.b"}) {
    EXPECT_THAT(identifier_mistake(name), testing::HasSubstr("is not an identifier")) << name;
  }
}

TEST(Identifier, may_not_be_a_word_of_C_plus_plus) {
  for (const char* name : {"class", "int", "and", "co_await", "requires", "wchar_t"}) {
    EXPECT_THAT(identifier_mistake(name), testing::HasSubstr("is a keyword of C++")) << name;
  }
}

TEST(Identifier, of_an_argument_may_be_a_word_of_C_plus_plus_since_it_reaches_no_source) {
  Mistakes mistakes("f.toml");
  EXPECT_TRUE(check_identifier("do", "argument", {1, 1}, mistakes));
  EXPECT_FALSE(check_identifier("d-o", "argument", {1, 1}, mistakes));
}

TEST(Identifier, may_not_be_a_name_that_compilers_keep) {
  for (const char* name : {"_n", "a__b", "threadIdx", "linux"}) {
    EXPECT_THAT(identifier_mistake(name), testing::HasSubstr("is reserved for compilers")) << name;
  }
}

TEST(NameRegistry, refuses_names_with_another_meaning) {
  EXPECT_EQ(claim_mistake("sm_count", "dim"),
            "dim 'sm_count' clashes: that is a device fact in formulas; choose another name");
  EXPECT_EQ(claim_mistake("min", "parameter"),
            "parameter 'min' clashes: that is a function of formulas; choose another name");
  EXPECT_EQ(claim_mistake("resident_blocks", "parameter"),
            "parameter 'resident_blocks' clashes: that is a fact of launching in formulas; choose another name");
  EXPECT_EQ(claim_mistake("implementation", "dim"),
            "dim 'implementation' clashes: that is a member of the generated struct Config; choose another name");
  EXPECT_EQ(claim_mistake("dtype_name", "attribute"),
            "attribute 'dtype_name' clashes: that is a member of the generated struct Config; choose another name");
}

TEST(NameRegistry, refuses_names_that_are_taken) {
  EXPECT_EQ(claim_mistake("rows", "dim"), "dim 'rows' appears twice");
  EXPECT_EQ(claim_mistake("rows", "parameter"), "parameter 'rows' clashes: there is a dim of that name");
  EXPECT_EQ(claim_mistake("act", "parameter"), "parameter 'act' clashes: there is an attribute of that name");
}

TEST(NameRegistry, keeps_static_dims_for_the_parameter) {
  EXPECT_EQ(claim_mistake("static_dims", "parameter"), "");
  EXPECT_EQ(claim_mistake("static_dims", "dim"),
            "dim 'static_dims' has the name of the parameter that specialises dims");
}

TEST(AttributeValue, is_short_text_that_a_shape_key_can_hold) {
  Mistakes mistakes("f.toml");
  for (const char* value : {"none", "2d", "a-b", "f8.e4m3+scale"}) {
    EXPECT_TRUE(check_attribute_value(value, {1, 1}, mistakes)) << value;
  }
  EXPECT_TRUE(check_attribute_value(std::string(63, 'x'), {1, 1}, mistakes));
  for (const std::string& value : {std::string(), std::string("a,b"), std::string("a b"), std::string("a=b"),
                                   std::string("a]"), std::string(64, 'x')}) {
    EXPECT_FALSE(check_attribute_value(value, {1, 1}, mistakes)) << value;
  }
}

}  // namespace
}  // namespace tilewright::reading
