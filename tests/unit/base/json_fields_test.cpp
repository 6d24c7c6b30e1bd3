// SPDX-License-Identifier: Apache-2.0
#include "cache/base/json_fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cache/base/error.hpp"
#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::json_fields_test {
namespace {

using nlohmann::json;
using test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The error of reading `text` with `read`.
std::string complaint(const std::string& text, const std::function<void(JsonObject&)>& read) {
  const json parsed = json::parse(text);
  return error_of<CacheError>([&] {
    JsonObject object(parsed, "thing");
    read(object);
  });
}

TEST(JsonObject, reads_each_kind_of_field) {
  const json parsed = json::parse(R"({"t":"x","i":-5,"f":true,"a":["p","q"],"o":{"k":1}})");
  JsonObject object(parsed, "thing");
  EXPECT_EQ(object.text("t"), "x");
  EXPECT_EQ(object.integer("i"), -5);
  EXPECT_EQ(object.small("i"), -5);
  EXPECT_TRUE(object.flag("f"));
  EXPECT_THAT(object.texts("a"), ElementsAre("p", "q"));
  EXPECT_EQ(object.array("a").size(), 2U);
  EXPECT_EQ(object.object("o").size(), 1U);
  EXPECT_TRUE(object.has("o"));
  EXPECT_FALSE(object.has("z"));
  EXPECT_NO_THROW(object.finish());
}

TEST(JsonObject, says_what_could_not_be_read_why_and_what_to_do) {
  EXPECT_EQ(complaint("{}", [](JsonObject& o) { (void)o.text("name"); }),
            "cannot read thing from the cache: 'name' is missing; the cache is damaged or of another version: tune "
            "again, or import an export");
}

TEST(JsonObject, refuses_a_field_of_another_kind) {
  const std::string text = R"({"t":"x","i":5,"r":1.5,"a":["p",2]})";
  EXPECT_THAT(complaint(text, [](JsonObject& o) { (void)o.text("i"); }), HasSubstr("'i' is not a string"));
  EXPECT_THAT(complaint(text, [](JsonObject& o) { (void)o.integer("t"); }), HasSubstr("'t' is not a whole number"));
  EXPECT_THAT(complaint(text, [](JsonObject& o) { (void)o.integer("r"); }), HasSubstr("'r' is not a whole number"));
  EXPECT_THAT(complaint(text, [](JsonObject& o) { (void)o.flag("i"); }), HasSubstr("'i' is neither true nor false"));
  EXPECT_THAT(complaint(text, [](JsonObject& o) { (void)o.array("t"); }), HasSubstr("'t' is not an array"));
  EXPECT_THAT(complaint(text, [](JsonObject& o) { (void)o.object("a"); }), HasSubstr("'a' is not an object"));
  EXPECT_THAT(complaint(text, [](JsonObject& o) { (void)o.texts("a"); }), HasSubstr("a[1] is not a string"));
}

TEST(JsonObject, refuses_numbers_that_would_wrap) {
  const std::string text = R"({"u":9223372036854775808,"i":2147483648,"n":-2147483649})";
  EXPECT_THAT(complaint(text, [](JsonObject& o) { (void)o.integer("u"); }), HasSubstr("'u' is beyond 2^63-1"));
  EXPECT_THAT(complaint(text, [](JsonObject& o) { (void)o.small("i"); }), HasSubstr("'i' is beyond 2^31-1"));
  EXPECT_THAT(complaint(text, [](JsonObject& o) { (void)o.small("n"); }), HasSubstr("'n' is beyond 2^31-1"));
}

TEST(JsonObject, refuses_a_field_that_was_not_read) {
  EXPECT_THAT(complaint(R"({"t":"x","newer":1})",
                        [](JsonObject& o) {
                          (void)o.text("t");
                          o.finish();
                        }),
              HasSubstr("'newer' is not known to this version of tilewright"));
}

TEST(JsonObject, refuses_what_is_no_object) {
  EXPECT_THAT(complaint("[1]", [](JsonObject&) {}), HasSubstr("cannot read thing from the cache: it is not an object"));
}

TEST(JsonObject, of_a_request_blames_who_asked) {
  const json parsed = json::parse("[1]");
  EXPECT_EQ(error_of<UsageError>([&] { const JsonObject object(parsed, "campaign", JsonOf::request); }),
            "campaign: it is not an object");
}

}  // namespace
}  // namespace tilewright::json_fields_test
