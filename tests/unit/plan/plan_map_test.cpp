// SPDX-License-Identifier: Apache-2.0
#include "cache/plan/plan_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::plan_map_test {
namespace {

using test::error_of;
using test::formula;
using test::formulas;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NoNames : public Scope {
 public:
  [[nodiscard]] std::optional<Value> find(std::string_view) const override { return std::nullopt; }
  [[nodiscard]] std::vector<std::string> names() const override { return {}; }
};

TensorMapRecipe recipe(const std::vector<std::string>& dims, const std::vector<std::string>& box,
                       const std::vector<std::string>& strides = {}, const std::string& swizzle = "0") {
  return {"map", "a", formulas(dims), formulas(box), formulas(strides), formula(swizzle), {}};
}

PlannedMap planned(const TensorMapRecipe& map, DType type = DType::bf16) {
  PlannedArg arg;
  arg.type = type;
  return std::get<PlannedMap>(plan_map(map, 3, arg, NoNames()));
}

std::string refusal_of(const PlannedArg& arg) {
  return std::get<std::string>(plan_map(recipe({"64", "8"}, {"64", "8"}), 3, arg, NoNames()));
}

std::string refusal(const TensorMapRecipe& map, DType type = DType::bf16) {
  PlannedArg arg;
  arg.type = type;
  return std::get<std::string>(plan_map(map, 3, arg, NoNames()));
}

TEST(PlanMap, cannot_follow_a_pitch_that_comes_with_the_call) {
  PlannedArg arg;
  arg.name = "x";
  arg.type = DType::bf16;
  arg.strides = {{2, 1}};
  arg.is_pitched = true;
  EXPECT_EQ(refusal_of(arg), "the rows of 'x' have a pitch, which no map can follow");
}

/// x of {b, t, h, d} whose strides are the scalars 1 to 3.
std::vector<PlannedArg> strided_args() {
  std::vector<PlannedArg> args(4);
  args[0].name = "x";
  args[0].type = DType::bf16;
  args[0].shape = {2, 3, 5, 64};
  for (std::size_t i = 1; i <= 3; ++i) {
    args[i].name = std::vector<std::string>{"batch", "token", "head"}[i - 1];
    args[i].role = ArgRole::scalar;
    args[i].type = DType::i64;
    args[0].strides.push_back({i, args[0].shape[i - 1]});
  }
  return args;
}

TEST(PlanMap, follows_strides_that_come_with_the_call_where_it_names_them) {
  const std::vector<PlannedArg> args = strided_args();
  TensorMapRecipe map = recipe({"64", "5", "3", "2"}, {"64", "1", "3", "1"}, {}, "128");
  EXPECT_EQ(std::get<std::string>(plan_map(map, 0, args[0], NoNames(), args)),
            "'x' has strides, which this map does not follow");
  map.stride_scalars = {"head", "token", "batch"};
  const auto planned = std::get<PlannedMap>(plan_map(map, 0, args[0], NoNames(), args));
  EXPECT_THAT(planned.stride_scalars, ElementsAre(3, 2, 1));
  EXPECT_THAT(planned.strides, ElementsAre(128, 640, 1920)) << "those of a dense tensor, until the call comes";
  map.stride_scalars = {"head", "token", "other"};
  EXPECT_EQ(std::get<std::string>(plan_map(map, 0, args[0], NoNames(), args)), "'other' is not a stride of 'x'");
}

TEST(PlanMap, of_a_dense_call_has_dense_strides_though_it_names_scalars) {
  std::vector<PlannedArg> args = strided_args();
  args.resize(1);
  args[0].strides.clear();
  TensorMapRecipe map = recipe({"64", "5", "3", "2"}, {"64", "1", "3", "1"});
  map.stride_scalars = {"head", "token", "batch"};
  const auto planned = std::get<PlannedMap>(plan_map(map, 0, args[0], NoNames(), args));
  EXPECT_THAT(planned.stride_scalars, IsEmpty());
  EXPECT_THAT(planned.strides, ElementsAre(128, 640, 1920));
}

TEST(PlanMap, of_extents_whose_dense_strides_no_map_has_is_taken_where_the_call_brings_others) {
  const std::vector<PlannedArg> args = strided_args();
  TensorMapRecipe map = recipe({"4", "5", "3", "2"}, {"16", "1", "3", "1"});
  map.stride_scalars = {"head", "token", "batch"};
  EXPECT_TRUE(std::holds_alternative<PlannedMap>(plan_map(map, 0, args[0], NoNames(), args)));
  map.stride_scalars = {"head", "token"};
  EXPECT_THAT(error_of<DefinitionError>([&] { (void)plan_map(map, 0, args[0], NoNames(), args); }),
              HasSubstr("has 4 dims, 4 box extents and 2 strides"));
}

TEST(PlanMap, dense_strides_are_products_of_the_extents) {
  const PlannedMap map = planned(recipe({"64", "10", "3"}, {"32", "4", "1"}, {}, "64"));
  EXPECT_EQ(map.name, "map");
  EXPECT_EQ(map.over, PlannedMap::Over::arg);
  EXPECT_EQ(map.index, 3U);
  EXPECT_EQ(map.type, DType::bf16);
  EXPECT_THAT(map.dims, ElementsAre(64, 10, 3));
  EXPECT_THAT(map.strides, ElementsAre(128, 1280));
  EXPECT_THAT(map.box, ElementsAre(32, 4, 1));
  EXPECT_EQ(map.swizzle, 64U);
}

TEST(PlanMap, rounds_fp32_to_tf32_where_it_is_asked_to_and_nothing_else) {
  TensorMapRecipe map = recipe({"64", "8"}, {"32", "8"});
  EXPECT_FALSE(planned(map, DType::f32).tf32);
  map.tf32 = formula("1 == 1");
  EXPECT_TRUE(planned(map, DType::f32).tf32);
  EXPECT_THAT(refusal(map, DType::bf16), HasSubstr("tf32 is what f32 is rounded to"));
}

TEST(PlanMap, strides_that_are_given_are_taken) {
  EXPECT_THAT(planned(recipe({"60", "10"}, {"8", "4"}, {"256"})).strides, ElementsAre(256));
}

TEST(PlanMap, one_dim_has_no_stride_and_may_have_any_extent) {
  EXPECT_THAT(planned(recipe({"1001"}, {"8"})).strides, IsEmpty());
  EXPECT_THAT(planned(recipe({"4294967296"}, {"256"})).dims, ElementsAre(4294967296));
}

TEST(PlanMap, extents_outside_what_the_hardware_takes_are_refused) {
  EXPECT_EQ(refusal(recipe({"0"}, {"8"})), "dim `0` is 0; it must be 1 to 2^32");
  EXPECT_EQ(refusal(recipe({"4294967297"}, {"8"})), "dim `4294967297` is 4294967297; it must be 1 to 2^32");
  EXPECT_EQ(refusal(recipe({"64", "0"}, {"8", "1"})), "dim `0` is 0; it must be 1 to 2^32");
  EXPECT_EQ(refusal(recipe({"64"}, {"0"})), "box extent `0` is 0; it must be 1 to 256");
  EXPECT_EQ(refusal(recipe({"512"}, {"257"})), "box extent `257` is 257; it must be 1 to 256");
}

TEST(PlanMap, strides_that_the_hardware_does_not_take_are_refused) {
  EXPECT_EQ(refusal(recipe({"1001", "4"}, {"8", "1"})),
            "stride 1 is 2002 bytes; it must be a multiple of 16 below 2^40");
  EXPECT_EQ(refusal(recipe({"64", "4"}, {"8", "1"}, {"0"})),
            "stride 1 is 0 bytes; it must be a multiple of 16 below 2^40");
  EXPECT_THAT(refusal(recipe({"64", "4"}, {"8", "1"}, {"1099511627776"})),
              HasSubstr("stride 1 is 1099511627776 bytes"));
  EXPECT_THAT(refusal(recipe({"64", "4", "4"}, {"8", "1", "1"}, {"128", "520"})), HasSubstr("stride 2 is 520 bytes"));
  EXPECT_THAT(refusal(recipe({"4294967296", "4294967296", "2"}, {"8", "1", "1"})), HasSubstr("stride 2 is"));
}

TEST(PlanMap, a_row_of_the_box_fits_the_grain_and_the_swizzle) {
  EXPECT_EQ(refusal(recipe({"64"}, {"7"})), "a row of the box is 14 bytes; it must be a multiple of 16");
  EXPECT_EQ(refusal(recipe({"64"}, {"128"}, {}, "128")), "a row of the box is 256 bytes, more than the swizzle of 128");
  EXPECT_EQ(planned(recipe({"64"}, {"64"}, {}, "128")).swizzle, 128U);
  EXPECT_EQ(planned(recipe({"64"}, {"4"}), DType::f32).box[0], 4U);
  EXPECT_EQ(refusal(recipe({"64"}, {"8"}, {}, "16")), "swizzle is 16; it must be 0, 32, 64 or 128");
  EXPECT_EQ(refusal(recipe({"64"}, {"8"}, {}, "-1")), "swizzle is -1; it must be 0, 32, 64 or 128");
}

TensorMapRecipe over_workspace(const std::vector<std::string>& dims, const std::vector<std::string>& strides) {
  TensorMapRecipe map = recipe(dims, std::vector<std::string>(dims.size(), "8"), strides);
  map.arg.clear();
  map.workspace = "rows";
  return map;
}

std::string refusal_of(const TensorMapRecipe& map, std::size_t bytes, DType type = DType::bf16) {
  const auto result = plan_map(map, 2, PlannedWorkspace{"rows", bytes, {}}, type, NoNames());
  return std::holds_alternative<std::string>(result) ? std::get<std::string>(result) : "";
}

TEST(PlanMap, lies_over_a_workspace_with_elements_of_a_type) {
  const auto result =
      plan_map(over_workspace({"61", "10"}, {"256"}), 2, PlannedWorkspace{"rows", 2560, {}}, DType::f32, NoNames());
  const auto& map = std::get<PlannedMap>(result);
  EXPECT_EQ(map.over, PlannedMap::Over::workspace);
  EXPECT_EQ(map.index, 2U);
  EXPECT_EQ(map.type, DType::f32);
  EXPECT_THAT(map.dims, ElementsAre(61, 10));
  EXPECT_THAT(map.strides, ElementsAre(256));
}

TEST(PlanMap, a_workspace_holds_its_extents) {
  // Nine rows of 128 bytes and the elements of a tenth.
  EXPECT_EQ(refusal_of(over_workspace({"61", "10"}, {"128"}), 9 * 128 + 122), "");
  EXPECT_EQ(refusal_of(over_workspace({"61", "10"}, {"128"}), 9 * 128 + 121),
            "its extents take 1274 bytes, and workspace 'rows' has 1273");
  EXPECT_EQ(refusal_of(over_workspace({"8"}, {}), 0), "its extents take 16 bytes, and workspace 'rows' has 0");
  EXPECT_EQ(refusal_of(over_workspace({"8", "1"}, {"4096"}), 16), "") << "one row has no way to the next";
  EXPECT_EQ(refusal_of(over_workspace({"8", "8", "8"}, {"16", "128"}), 1024), "");
  EXPECT_EQ(refusal_of(over_workspace({"8", "4294967296"}, {"1099511627760"}), 1024),
            "its extents take too many bytes, and workspace 'rows' has 1024");
}

TEST(PlanMap, over_a_workspace_is_judged_like_any_other) {
  EXPECT_THAT(refusal_of(over_workspace({"61", "10"}, {}), 1 << 20), HasSubstr("stride 1 is 122 bytes"));
  TensorMapRecipe map = over_workspace({"61", "10"}, {"256"});
  map.tf32 = formula("true");
  EXPECT_EQ(refusal_of(map, 1 << 20, DType::f32), "");
  EXPECT_EQ(refusal_of(map, 1 << 20), "tf32 is what f32 is rounded to, and 'rows' is bf16");
}

TEST(PlanMap, counts_that_do_not_fit_are_mistakes_of_the_definition) {
  PlannedArg arg;
  const TensorMapRecipe wrong[] = {recipe({}, {}), recipe({"8"}, {"8", "8"}),
                                   recipe({"8", "8"}, {"8", "8"}, {"16", "16"}),
                                   recipe({"8", "8", "8", "8", "8", "8"}, {"8", "8", "8", "8", "8", "8"})};
  for (const TensorMapRecipe& map : wrong) {
    EXPECT_THAT(error_of<DefinitionError>([&] { (void)plan_map(map, 0, arg, NoNames()); }),
                HasSubstr("tensor map 'map' has"));
  }
  EXPECT_THAT(error_of<DefinitionError>([&] { (void)plan_map(recipe({"m"}, {"8"}), 0, arg, NoNames()); }),
              HasSubstr("unknown name 'm'"));
}

}  // namespace
}  // namespace tilewright::plan_map_test
