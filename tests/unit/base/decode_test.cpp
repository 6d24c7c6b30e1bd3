// SPDX-License-Identifier: Apache-2.0
#include "cache/base/decode.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cache/base/error.hpp"
#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::decode_test {
namespace {

using nlohmann::json;
using test::error_of;
using ::testing::HasSubstr;

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  text.reserve(part.size() * times);
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

json sample() {
  return {{"text", "[[{\"\\,"},
          {"list", {1, -2, 0.5, 1e300, true, nullptr, "é"}},
          {"bytes", json::binary({0x5F, 0x9F, 0xFF})},
          {"big", 0xFFFF'FFFF'FFFFULL},
          {"object", {{"a", {{"b", json::array()}}}}}};
}

std::string json_refusal(const std::string& text) {
  return error_of<UsageError>([&] { (void)decode_json(text); });
}

std::string cbor_refusal(const std::string& bytes) {
  return error_of<UsageError>([&] { (void)decode_cbor(bytes_of(bytes)); });
}

TEST(Decode, brings_back_what_was_written) {
  const std::vector<std::uint8_t> cbor = json::to_cbor(sample());
  EXPECT_EQ(*decode_cbor(std::as_bytes(std::span(cbor))), sample());
  json no_bytes = sample();
  no_bytes.erase("bytes");
  EXPECT_EQ(*decode_json(no_bytes.dump()), no_bytes);
  EXPECT_EQ(*decode_json(no_bytes.dump(2)), no_bytes);
}

TEST(Decode, nests_as_deep_as_the_bound_and_no_deeper) {
  const auto lists = [](std::size_t levels) { return repeated("[", levels) + repeated("]", levels); };
  EXPECT_TRUE(decode_json(lists(kMostDecodedLevels))->is_array());
  EXPECT_THAT(json_refusal(lists(kMostDecodedLevels + 1)), HasSubstr("deeper than 64 levels"));
  const auto nested = [](std::size_t levels) { return repeated("\x81", levels - 1) + "\x80"; };
  EXPECT_TRUE(decode_cbor(bytes_of(nested(kMostDecodedLevels)))->is_array());
  EXPECT_THAT(cbor_refusal(repeated("\x81", kMostDecodedLevels) + "\x81\x01"), HasSubstr("deeper than 64 levels"));
}

TEST(Decode, refuses_what_would_overflow_the_stack) {
  constexpr std::size_t kDeep = 200'000;
  EXPECT_THAT(json_refusal(repeated("[", kDeep)), HasSubstr("deeper than"));
  EXPECT_THAT(json_refusal(repeated("{\"a\":", kDeep)), HasSubstr("deeper than"));
  EXPECT_THAT(cbor_refusal(repeated("\x81", kDeep)), HasSubstr("deeper than"));
  EXPECT_THAT(cbor_refusal(repeated("\xA1\x61k", kDeep)), HasSubstr("deeper than"));
  // Nested lists, texts and bytes of indefinite length.
  EXPECT_THAT(cbor_refusal(repeated("\x9F", kDeep)), HasSubstr("indefinite length"));
  EXPECT_THAT(cbor_refusal(repeated("\x7F", kDeep)), HasSubstr("indefinite length"));
  EXPECT_THAT(cbor_refusal(repeated("\x5F", kDeep)), HasSubstr("indefinite length"));
  EXPECT_THAT(cbor_refusal(repeated("\xC1", kDeep)), HasSubstr("tag"));
}

TEST(Decode, counts_values_before_it_builds_them) {
  EXPECT_THAT(json_refusal("[" + repeated("[],", kMostDecodedValues) + "0]"), HasSubstr("more than 4194304 values"));
  std::string many("\x9A\x00\x50\x00\x00", 5);
  EXPECT_THAT(cbor_refusal(many + repeated("\x80", 0x500000)), HasSubstr("more than 4194304 values"));
}

TEST(Decode, believes_no_length_beyond_the_end) {
  const std::string huge("\x40\0\0\0\0\0\0\0", 8);  // 2^62
  for (const char* major : {"\x5B", "\x7B", "\x9B", "\xBB"}) {
    EXPECT_THAT(cbor_refusal(major + huge), HasSubstr("cut off")) << static_cast<int>(*major);
  }
  EXPECT_THAT(cbor_refusal(""), HasSubstr("cut off"));
  EXPECT_THAT(cbor_refusal("\x19\x01"), HasSubstr("cut off"));
  EXPECT_THAT(cbor_refusal("\x01\x01"), HasSubstr("1 bytes follow"));
  EXPECT_THAT(json_refusal(std::string(kMostDecodedBytes + 1, ' ')), HasSubstr("at most 268435456 are accepted"));
}

TEST(Decode, says_what_the_parser_says) {
  EXPECT_THAT(json_refusal("[1,"), HasSubstr("parse error"));
  EXPECT_THAT(json_refusal("]]"), HasSubstr("parse error"));
  EXPECT_THAT(cbor_refusal("\xA1\x01\x01"), HasSubstr("parse error")) << "a key that is no text";
}

}  // namespace
}  // namespace tilewright::decode_test
