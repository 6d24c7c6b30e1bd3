// SPDX-License-Identifier: Apache-2.0
#include "cache/model/recipe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "cache/base/error.hpp"
#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::recipe_test {
namespace {

using nlohmann::json;
using test::error_of;
using test::formula;
using test::formulas;
using test::gemm_tma;
using test::softmax_onchip;
using ::testing::HasSubstr;

std::string complaint(const std::function<void(json&)>& damage) {
  json stored = to_json(gemm_tma());
  damage(stored);
  return error_of<CacheError>([&] { (void)recipe_from_json(stored); });
}

TEST(Recipe, json_gives_back_an_equal_recipe) {
  ImplementationRecipe full = gemm_tma();
  full.maps[0].strides = formulas({"k * 2"});
  full.maps[0].stride_scalars = {"a_row"};
  full.workspaces.push_back({"flags", formula("4"), WorkspaceRecipe::Zero::once});
  full.workspaces.push_back({"scratch", formula("8"), WorkspaceRecipe::Zero::never});
  full.kernels[0].nonportable_cluster = true;
  for (const ImplementationRecipe& recipe : {full, gemm_tma(), softmax_onchip(), ImplementationRecipe{}}) {
    const ImplementationRecipe read = recipe_from_json(json::parse(to_json(recipe).dump()));
    EXPECT_EQ(read, recipe);
    EXPECT_EQ(to_json(read), to_json(recipe));
  }
}

TEST(Recipe, json_says_of_tf32_only_where_a_map_has_it) {
  ImplementationRecipe recipe = gemm_tma();
  EXPECT_FALSE(to_json(recipe)["maps"][0].contains("tf32"));
  recipe.maps[0].tf32 = test::formula("dtype == 'f32'");
  EXPECT_EQ(to_json(recipe)["maps"][0]["tf32"], "dtype == 'f32'");
  EXPECT_EQ(recipe_from_json(to_json(recipe)), recipe);
}

TEST(Recipe, json_says_what_blocks_cover_only_where_the_recipe_does) {
  ImplementationRecipe recipe = softmax_onchip();
  EXPECT_FALSE(to_json(recipe).contains("covers"));
  recipe.covers.emplace("cols", test::formula("chunks * 32"));
  EXPECT_EQ(to_json(recipe)["covers"]["cols"], "chunks * 32");
  EXPECT_EQ(recipe_from_json(to_json(recipe)), recipe);
  json stored = to_json(recipe);
  stored["covers"]["cols"] = "(";
  EXPECT_THAT(error_of<CacheError>([&] { (void)recipe_from_json(stored); }), HasSubstr("covers: cols: expected"));
}

TEST(Recipe, json_has_values_only_where_the_recipe_does) {
  ImplementationRecipe recipe = softmax_onchip();
  EXPECT_FALSE(to_json(recipe).contains("values"));
  recipe.values.push_back({"chunks", test::formula("cols / vec")});
  recipe.kernels[0].params.push_back({KernelParam::Kind::value, "chunks"});
  json stored = to_json(recipe);
  EXPECT_EQ(stored["values"], (json::array({{{"name", "chunks"}, {"value", "cols / vec"}}})));
  EXPECT_EQ(stored["kernels"][0]["params"][4], "value:chunks");
  EXPECT_EQ(recipe_from_json(stored), recipe);
  stored["values"][0]["value"] = "(";
  EXPECT_THAT(error_of<CacheError>([&] { (void)recipe_from_json(stored); }),
              HasSubstr("recipe of onchip: values[0]: value: expected"));
}

TEST(Recipe, json_has_a_maps_workspace_in_place_of_its_argument) {
  ImplementationRecipe recipe = gemm_tma();
  EXPECT_FALSE(to_json(recipe)["maps"][0].contains("workspace"));
  EXPECT_FALSE(to_json(recipe)["maps"][0].contains("type"));
  recipe.maps[0].arg.clear();
  recipe.maps[0].workspace = "partial";
  for (const std::optional<DType> type : {std::optional<DType>(), std::optional(DType::f32)}) {
    recipe.maps[0].type = type;
    const json stored = to_json(recipe);
    EXPECT_FALSE(stored["maps"][0].contains("arg"));
    EXPECT_EQ(stored["maps"][0]["workspace"], "partial");
    EXPECT_EQ(stored["maps"][0]["type"], type ? "f32" : "dtype");
    EXPECT_EQ(recipe_from_json(stored), recipe);
  }
}

TEST(Recipe, json_keeps_formulas_and_parameters_as_text) {
  const json stored = to_json(softmax_onchip());
  EXPECT_EQ(stored["constraints"][0], "cols % vec == 0");
  EXPECT_EQ(stored["align"]["x"], "vec * sizeof(dtype)");
  EXPECT_EQ(stored["kernels"][0]["params"], (json{"ptr:x", "ptr:y", "dim:rows", "dim:cols"}));
  EXPECT_EQ(stored["kernels"][0]["when"], "true");
}

TEST(Recipe, formulas_that_were_stored_say_where_they_stood) {
  const ImplementationRecipe recipe = recipe_from_json(to_json(gemm_tma()));
  EXPECT_EQ(recipe.constraints[0].place().file, "recipe of tma: constraints[0]");
  EXPECT_EQ(recipe.kernels[1].grid[0].place().file, "recipe of tma: kernels[1]: grid[0]");
  EXPECT_EQ(recipe.align.at("b").place().file, "recipe of tma: align: b");
}

TEST(Recipe, a_kernel_is_launched_unless_it_says_otherwise) { EXPECT_EQ(KernelRecipe{}.when.text(), "true"); }

TEST(Recipe, kernel_parameters_are_text_both_ways) {
  using Kind = KernelParam::Kind;
  for (const Kind kind : {Kind::ptr, Kind::dim, Kind::scalar, Kind::map, Kind::workspace, Kind::value}) {
    const KernelParam param{kind, "x"};
    EXPECT_EQ(kernel_param_from(text(param)), param);
  }
  EXPECT_EQ(text({Kind::workspace, "partial"}), "workspace:partial");
  for (const char* wrong : {"", "x", "ptr", "ptr:", ":x", "pointer:x", "Ptr:x"}) {
    EXPECT_EQ(kernel_param_from(wrong), std::nullopt) << wrong;
  }
}

TEST(Recipe, ways_to_zero_are_found_by_name) {
  using Zero = WorkspaceRecipe::Zero;
  for (const Zero zero : {Zero::never, Zero::once, Zero::each}) EXPECT_EQ(zero_from(name(zero)), zero);
  EXPECT_EQ(zero_from("always"), std::nullopt);
}

TEST(Recipe, damaged_json_is_refused_with_the_place) {
  EXPECT_THAT(complaint([](json& j) { j = "text"; }), HasSubstr("cannot read an implementation's recipe"));
  EXPECT_THAT(complaint([](json& j) { j.erase("name"); }), HasSubstr("'name' is missing"));
  const json whole = to_json(gemm_tma());
  for (const auto& [field, value] : whole.items()) {
    if (field == "name") continue;
    EXPECT_THAT(complaint([&, field = field](json& j) { j.erase(field); }), HasSubstr("'" + field + "' is missing"));
    EXPECT_THAT(complaint([&, field = field](json& j) { j[field] = 3; }), HasSubstr("'" + field + "' is not a"));
  }
  EXPECT_THAT(complaint([](json& j) { j["newer"] = 1; }), HasSubstr("'newer' is not known"));
  EXPECT_THAT(complaint([](json& j) { j["constraints"][0] = "k %"; }),
              HasSubstr("recipe of tma: constraints[0]: expected a value, found the end at column 4 of `k %`"));
  EXPECT_THAT(complaint([](json& j) { j["align"]["b"] = 16; }), HasSubstr("'b' is not a string"));
  EXPECT_THAT(complaint([](json& j) { j["align"]["b"] = "("; }), HasSubstr("recipe of tma: align: b: expected"));
  EXPECT_THAT(complaint([](json& j) { j["maps"][1]["more"] = 1; }), HasSubstr("recipe of tma: maps[1]"));
  EXPECT_THAT(complaint([](json& j) { j["maps"][1].erase("box"); }), HasSubstr("'box' is missing"));
  EXPECT_THAT(complaint([](json& j) { j["maps"][1].erase("arg"); }), HasSubstr("'arg' is missing"));
  EXPECT_THAT(complaint([](json& j) { j["maps"][1]["type"] = "f32"; }), HasSubstr("'type' is not known"));
  EXPECT_THAT(complaint([](json& j) { j["maps"][1]["workspace"] = "partial"; }), HasSubstr("'type' is missing"));
  EXPECT_THAT(complaint([](json& j) {
                j["maps"][1]["workspace"] = "partial";
                j["maps"][1]["type"] = "f128";
              }),
              HasSubstr("'f128' is not a type"));
  EXPECT_THAT(complaint([](json& j) {
                j["maps"][1]["workspace"] = "partial";
                j["maps"][1]["type"] = "f32";
              }),
              HasSubstr("'arg' is not known"))
      << "one or the other";
  EXPECT_THAT(complaint([](json& j) { j["workspaces"][0]["zero"] = "always"; }),
              HasSubstr("'always' is not a way to zero a workspace"));
  EXPECT_THAT(complaint([](json& j) { j["kernels"][1]["params"][0] = "pointer:x"; }),
              HasSubstr("recipe of tma: kernels[1] from the cache: 'pointer:x' is not a kernel parameter"));
  EXPECT_THAT(complaint([](json& j) { j["kernels"][1]["pdl"] = 1; }), HasSubstr("'pdl' is neither true nor false"));
  EXPECT_THAT(complaint([](json& j) { j["kernels"][1]["cooperative"] = true; }),
              HasSubstr("'cooperative' is not known"));
}

}  // namespace
}  // namespace tilewright::recipe_test
