// SPDX-License-Identifier: Apache-2.0
// The C++ layer: from a call's values to a kernel's arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <cstdint>
#include <limits>
#include <locale>
#include <tilewright/launch.hpp>
#include <vector>

namespace tilewright::detail {
namespace {

using ::testing::HasSubstr;

ArgumentType pointer_to(const char* type, std::size_t bytes) {
  return {.name = "x", .type = type, .bytes = bytes, .kind = type[0], .is_scalar = false};
}
ArgumentType scalar(const char* type, std::size_t bytes) {
  return {.name = "eps", .type = type, .bytes = bytes, .kind = type[0], .is_scalar = true};
}

template <class Read, class Passed>
Read stored(const ArgumentType& type, Passed passed) {
  Slot slot{};
  store(type, passed, slot);
  Read value{};
  std::memcpy(&value, slot.bytes, sizeof value);
  return value;
}

template <class Passed>
std::string refused(const ArgumentType& type, Passed passed) {
  Slot slot{};
  try {
    store(type, passed, slot);
  } catch (const LaunchError& error) {
    EXPECT_EQ(error.code(), TW_ERROR_USAGE);
    return error.what();
  }
  return "nothing was refused";
}

struct Half {
  std::uint16_t bits;
};

TEST(Arguments, numbers_become_the_declared_type) {
  EXPECT_EQ(stored<float>(scalar("f32", 4), 1e-6), 1e-6F);
  EXPECT_EQ(stored<float>(scalar("f32", 4), 3), 3.0F);
  EXPECT_EQ(stored<double>(scalar("f64", 8), 0.1F), static_cast<double>(0.1F));
  EXPECT_EQ(stored<std::int64_t>(scalar("i64", 8), -5), -5);
  EXPECT_EQ(stored<std::int32_t>(scalar("i32", 4), std::int64_t{-5}), -5);
  EXPECT_EQ(stored<std::uint32_t>(scalar("u32", 4), 5), 5U);
  EXPECT_EQ(stored<std::uint64_t>(scalar("u64", 8), 5), 5U);
  EXPECT_EQ(stored<std::uint8_t>(scalar("u8", 1), true), 1U);
}

TEST(Arguments, numbers_that_do_not_fit_are_refused) {
  EXPECT_THAT(refused(scalar("i32", 4), std::int64_t{1} << 32),
              HasSubstr("'eps' is a scalar of type i32; the call passes 4294967296"));
  EXPECT_THAT(refused(scalar("u32", 4), -1), HasSubstr("outside its range"));
  EXPECT_THAT(refused(scalar("u64", 8), -1), HasSubstr("outside its range"));
  EXPECT_THAT(refused(scalar("i64", 8), std::numeric_limits<std::uint64_t>::max()), HasSubstr("outside its range"));
  EXPECT_THAT(refused(scalar("u8", 1), 256), HasSubstr("outside its range"));
  EXPECT_THAT(refused(scalar("i64", 8), 1.5), HasSubstr("floating-point"));
}

TEST(Arguments, sixteen_bit_numbers_are_passed_as_they_are) {
  EXPECT_EQ(stored<std::uint16_t>(scalar("bf16", 2), Half{0x3f80}), 0x3f80);
  EXPECT_THAT(refused(scalar("f16", 2), 1.0), HasSubstr("pass a value of that type"));
  EXPECT_THAT(refused(scalar("f32", 4), Half{1}), HasSubstr("an object of 2 bytes"));
}

TEST(Arguments, pointers_become_addresses) {
  float value = 0;
  const auto address = reinterpret_cast<std::uintptr_t>(&value);
  EXPECT_EQ(stored<std::uintptr_t>(pointer_to("f32", 4), &value), address);
  EXPECT_EQ(stored<std::uintptr_t>(pointer_to("f32", 4), static_cast<const float*>(&value)), address);
  EXPECT_EQ(stored<std::uintptr_t>(pointer_to("bf16", 2), static_cast<void*>(&value)), address);
  EXPECT_EQ(stored<std::uintptr_t>(pointer_to("f32", 4), static_cast<unsigned long long>(address)), address);
  EXPECT_EQ(stored<std::uintptr_t>(pointer_to("f32", 4), nullptr), 0U);
}

TEST(Arguments, pointers_and_numbers_are_not_taken_for_each_other) {
  float value = 0;
  EXPECT_THAT(refused(pointer_to("bf16", 2), &value),
              HasSubstr("'x' is a pointer to bf16; the call passes a pointer to elements of 4 bytes"));
  EXPECT_THAT(refused(pointer_to("f32", 4), 1), HasSubstr("the call passes a number"));
  EXPECT_THAT(refused(pointer_to("f32", 4), 1.0), HasSubstr("the call passes a number"));
  EXPECT_THAT(refused(scalar("f32", 4), &value), HasSubstr("the call passes a pointer"));
}

TEST(Arguments, come_from_the_description_of_an_op) {
  const auto types =
      argument_types(R"({"op":"o","dims":["m"],"args":[{"name":"x","role":"in","type":"bf16","bytes":2},)"
                     R"({"name":"eps","role":"scalar","type":"f32","bytes":4}]})");
  ASSERT_EQ(types->size(), 2U);
  EXPECT_STREQ((*types)[0].name, "x");
  EXPECT_EQ((*types)[0].bytes, 2U);
  EXPECT_FALSE((*types)[0].is_scalar);
  EXPECT_EQ((*types)[1].kind, 'f');
  EXPECT_TRUE((*types)[1].is_scalar);
  EXPECT_TRUE(argument_types(R"({"args":[]})")->empty());
}

TEST(Shape, takes_integers_of_any_type) {
  const Shape shape{std::size_t{3}, 4, std::int64_t{5}, static_cast<unsigned char>(6)};
  ASSERT_EQ(shape.size(), 4U);
  EXPECT_EQ(std::vector<std::int64_t>(shape.data(), shape.data() + 4), (std::vector<std::int64_t>{3, 4, 5, 6}));
  EXPECT_EQ(Shape(std::vector<std::int64_t>{7, 8}).data()[1], 8);
  EXPECT_EQ(Shape(-2).data()[0], -2) << "an error of the call, which knows the dim's name";
  EXPECT_EQ(Shape().size(), 0U);
}

TEST(Shape, refuses_what_it_cannot_hold) {
  EXPECT_THROW(static_cast<void>(Shape{std::numeric_limits<std::uint64_t>::max()}), LaunchError);
  EXPECT_THROW(static_cast<void>(Shape{std::vector<std::int64_t>(9, 1)}), LaunchError);
}

TEST(FlatJson, reads_text_numbers_words_and_what_is_nested) {
  const FlatJson json(R"( {"a": "x, \"y\" {z}\n", "b":1.5e3,"c":null,"d":[1,{"e":"]"}],"f":true} )");
  EXPECT_EQ(json.text("a"), "x, \"y\" {z}\n");
  EXPECT_EQ(json.number("b"), 1500);
  EXPECT_EQ(json.text("c"), "");
  EXPECT_EQ(json.number("c"), 0);
  EXPECT_EQ(json.text("d"), R"([1,{"e":"]"}])");
  EXPECT_EQ(json.text("f"), "true");
  EXPECT_EQ(json.text("g"), "");
  const auto items = FlatJson::items(json.text("d"));
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(FlatJson(items[1]).text("e"), "]");
  EXPECT_EQ(FlatJson("").text("a"), "");
  EXPECT_EQ(FlatJson("{\"a\":\"b").text("a"), "");
}

TEST(FlatJson, reads_control_characters_as_the_library_escapes_them) {
  const FlatJson json(R"({"a":"\u001b[1m\r\b\f\u007F.","b":"\u","c":"\u001"})");
  EXPECT_EQ(json.text("a"), "\x1b[1m\r\b\f\x7f.");
  EXPECT_EQ(json.text("b"), std::string(1, '\0')) << "cut off";
  EXPECT_EQ(json.text("c"), "\1") << "cut off";
}

TEST(FlatJson, reads_numbers_with_a_point_whatever_the_locale) {
  /// A locale with a decimal comma, which the machine may not have installed.
  class Comma : public std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Comma));
  const std::string c_before = std::setlocale(LC_NUMERIC, nullptr);
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR.utf8"}) {
    if (std::setlocale(LC_NUMERIC, name) != nullptr) break;
  }
  EXPECT_EQ(FlatJson(R"({"a":1234.5})").number("a"), 1234.5);
  EXPECT_EQ(FlatJson(R"({"a":-2.5e-3})").number("a"), -0.0025);
  std::setlocale(LC_NUMERIC, c_before.c_str());
  std::locale::global(before);
}

}  // namespace
}  // namespace tilewright::detail
