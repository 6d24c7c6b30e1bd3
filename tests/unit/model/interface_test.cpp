// SPDX-License-Identifier: Apache-2.0
#include "cache/model/interface.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "cache/base/error.hpp"
#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::interface_test {
namespace {

using nlohmann::json;
using test::error_of;
using test::formula;
using test::gemm;
using test::softmax;
using ::testing::HasSubstr;

std::string complaint(const std::function<void(json&)>& damage) {
  json stored = to_json(gemm());
  damage(stored);
  return error_of<CacheError>([&] { (void)interface_from_json(stored); });
}

TEST(Interface, json_gives_back_an_equal_interface) {
  OpInterface pitched = gemm();
  pitched.args[0].pitch = "alpha";
  OpInterface strided = gemm();
  strided.args[0].strides = {"alpha"};
  OpInterface bucketed = gemm();
  bucketed.bucketed = {"m"};
  for (const OpInterface& op : {softmax(), gemm(), pitched, strided, bucketed, OpInterface{}}) {
    const OpInterface read = interface_from_json(json::parse(to_json(op).dump()));
    EXPECT_EQ(read, op);
    EXPECT_EQ(read.hash(), op.hash());
    EXPECT_EQ(to_json(read), to_json(op));
  }
}

TEST(Interface, json_is_what_docs_say) {
  EXPECT_EQ(to_json(softmax()).dump(),
            R"({"args":[)"
            R"({"alias":[],"align":1,"name":"x","role":"in","shape":["rows","cols"],"type":"dtype"},)"
            R"({"alias":["x"],"align":1,"name":"y","role":"out","shape":["rows","cols"],"type":"dtype"}],)"
            R"("attributes":[],"dims":["rows","cols"],"dtypes":["f32","f16","bf16"],"op":"softmax"})");
}

// Applications and caches depend on these digits: if they change, existing caches become useless.
TEST(Interface, hash_is_the_same_for_ever) {
  EXPECT_EQ(softmax().hash(), "12ab1ab2cdbd9941e987d2c4cadded43");
  EXPECT_EQ(gemm().hash(), "64fa574f34d24ffc49cec9a54213b8f0");
}

TEST(Interface, hash_ignores_spacing_and_places_of_formulas) {
  OpInterface op = softmax();
  op.args[0].shape[0] = Formula::parse("  rows ", {"softmax.toml", 4, 9});
  EXPECT_EQ(op.hash(), softmax().hash());
  OpInterface spaced = gemm();
  spaced.args[2].when = formula("bias=='yes'");
  EXPECT_EQ(spaced.hash(), gemm().hash());
}

TEST(Interface, hash_covers_every_field) {
  const std::vector<std::function<void(OpInterface&)>> changes{
      [](OpInterface&) {},
      [](OpInterface& op) { op.op = "matmul"; },
      [](OpInterface& op) { std::swap(op.dims[0], op.dims[1]); },
      [](OpInterface& op) { op.dims.pop_back(); },
      [](OpInterface& op) { op.bucketed = {"m"}; },
      [](OpInterface& op) {
        op.bucketed = {"m", "n"};
      },
      [](OpInterface& op) { std::swap(op.dtypes[0], op.dtypes[1]); },
      [](OpInterface& op) { op.dtypes.pop_back(); },
      [](OpInterface& op) { std::swap(op.attributes[0], op.attributes[1]); },
      [](OpInterface& op) { op.attributes[0].name = "order"; },
      [](OpInterface& op) { std::swap(op.attributes[0].values[0], op.attributes[0].values[1]); },
      [](OpInterface& op) { op.attributes[2].values.pop_back(); },
      [](OpInterface& op) { std::swap(op.args[0], op.args[1]); },
      [](OpInterface& op) { op.args.pop_back(); },
      [](OpInterface& op) { op.args[0].name = "lhs"; },
      [](OpInterface& op) { op.args[0].role = ArgRole::inout; },
      [](OpInterface& op) { op.args[0].type = DType::bf16; },
      [](OpInterface& op) { op.args[3].type = DType::f64; },
      [](OpInterface& op) { std::swap(op.args[0].shape[0], op.args[0].shape[1]); },
      [](OpInterface& op) { op.args[0].shape[0] = formula("m + 1"); },
      [](OpInterface& op) { op.args[0].align = 16; },
      [](OpInterface& op) { op.args[0].pitch = "alpha"; },
      [](OpInterface& op) { op.args[0].strides = {"alpha"}; },
      [](OpInterface& op) { op.args[4].alias = {"a"}; },
      [](OpInterface& op) { op.args[2].when.reset(); },
      [](OpInterface& op) { op.args[2].when = formula("bias != 'no'"); },
  };
  std::set<std::string> hashes;
  for (const auto& change : changes) {
    OpInterface op = gemm();
    change(op);
    hashes.insert(op.hash());
  }
  EXPECT_EQ(hashes.size(), changes.size());
}

TEST(Interface, formulas_that_were_stored_say_where_they_stood) {
  const OpInterface op = interface_from_json(to_json(softmax()));
  EXPECT_EQ(op.args[1].shape[0].place().file, "interface of softmax: args[1]: shape[0]");
}

TEST(Interface, damaged_json_is_refused_with_the_place) {
  EXPECT_THAT(complaint([](json& j) { j = 3; }), HasSubstr("cannot read an op's interface from the cache"));
  EXPECT_THAT(complaint([](json& j) { j.erase("dims"); }), HasSubstr("'dims' is missing"));
  EXPECT_THAT(complaint([](json& j) { j["dims"] = "m"; }), HasSubstr("'dims' is not an array"));
  EXPECT_THAT(complaint([](json& j) { j["dtypes"][0] = "f23"; }), HasSubstr("'f23' is not a type"));
  EXPECT_THAT(complaint([](json& j) { j["newer"] = 1; }), HasSubstr("'newer' is not known"));
  EXPECT_THAT(complaint([](json& j) { j["attributes"][1].erase("values"); }),
              HasSubstr("interface of gemm: attributes[1] from the cache: 'values' is missing"));
  EXPECT_THAT(complaint([](json& j) { j["attributes"][1]["more"] = 1; }), HasSubstr("'more' is not known"));
  EXPECT_THAT(complaint([](json& j) { j["args"][2]["role"] = "output"; }),
              HasSubstr("interface of gemm: args[2] from the cache: 'output' is not a role"));
  EXPECT_THAT(complaint([](json& j) { j["args"][2]["type"] = "float"; }), HasSubstr("'float' is not a type"));
  EXPECT_THAT(complaint([](json& j) { j["args"][2]["align"] = "8"; }), HasSubstr("'align' is not a whole number"));
  EXPECT_THAT(complaint([](json& j) { j["args"][2]["when"] = "bias =="; }),
              HasSubstr("args[2]: when: expected a value, found the end at column 8"));
  EXPECT_THAT(complaint([](json& j) { j["args"][2]["more"] = 1; }), HasSubstr("'more' is not known"));
}

TEST(Interface, roles_are_found_by_name) {
  for (const ArgRole role : {ArgRole::in, ArgRole::out, ArgRole::inout, ArgRole::scalar}) {
    EXPECT_EQ(arg_role_from(name(role)), role);
  }
  EXPECT_EQ(name(ArgRole::inout), "inout");
  EXPECT_EQ(arg_role_from("output"), std::nullopt);
}

TEST(Interface, an_argument_without_a_type_has_the_ops_dtype) {
  EXPECT_EQ(Argument{}.type_for(DType::bf16), DType::bf16);
  EXPECT_EQ(gemm().args[2].type_for(DType::bf16), DType::f32);
}

}  // namespace
}  // namespace tilewright::interface_test
