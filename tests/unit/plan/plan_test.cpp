// SPDX-License-Identifier: Apache-2.0
#include "cache/plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::plan_test {
namespace {

using test::error_of;
using test::formula;
using test::formulas;
using test::gemm;
using test::gemm_tma;
using test::softmax;
using test::softmax_onchip;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = KernelParam::Kind;

DeviceFacts hopper() {
  DeviceFacts facts = emulator_facts();
  facts.name = "GTX fictional";
  facts.compute_capability = 90;
  facts.sm_count = 132;
  return facts;
}

DeviceFacts ampere() {
  DeviceFacts facts = hopper();
  facts.compute_capability = 80;
  return facts;
}

using Outcome = std::variant<LaunchPlan, Illegal>;

Outcome plan_softmax(const std::string& config, const std::string& key, const DeviceFacts& device = hopper(),
                     const ImplementationRecipe& recipe = softmax_onchip()) {
  return make_plan(softmax(), recipe, Config::parse(config), parse_problem(key, softmax()), device);
}

Outcome plan_gemm(const std::string& config, const std::string& key, const ImplementationRecipe& recipe = gemm_tma(),
                  const DeviceFacts& device = hopper()) {
  return make_plan(gemm(), recipe, Config::parse(config), parse_problem(key, gemm()), device);
}

const std::string kTma = "tma{block_m=128,block_n=64,block_k=64,split_k=4,cluster=2}";
const std::string kTmaWhole = "tma{block_m=128,block_n=64,block_k=64,split_k=1,cluster=2}";
const std::string kGemm = "gemm[bias=yes]{m=300,n=512,k=1024}";

Illegal illegal(const Outcome& outcome) { return std::get<Illegal>(outcome); }
LaunchPlan legal(const Outcome& outcome) {
  if (const auto* const why = std::get_if<Illegal>(&outcome)) throw std::logic_error(why->reason);
  return std::get<LaunchPlan>(outcome);
}

TEST(Plan, one_kernel_gets_its_geometry_parameters_and_alignment) {
  const LaunchPlan plan =
      legal(plan_softmax("onchip{num_warps=4,vec=8,static_dims=1}", "softmax[dtype=bf16]{rows=4096,cols=1024}"));
  ASSERT_THAT(plan.kernels, SizeIs(1));
  const PlannedKernel& kernel = plan.kernels[0];
  EXPECT_EQ(kernel.entry, "softmax_onchip");
  EXPECT_THAT(kernel.grid, ElementsAre(4096, 1, 1));
  EXPECT_THAT(kernel.block, ElementsAre(128, 1, 1));
  EXPECT_THAT(kernel.params, ElementsAre(PlannedParam{Kind::ptr, 0}, PlannedParam{Kind::ptr, 1},
                                         PlannedParam{Kind::dim, 0}, PlannedParam{Kind::dim, 1}));
  ASSERT_THAT(plan.args, SizeIs(2));
  EXPECT_EQ(plan.args[0].alignment, 16U);
  EXPECT_EQ(plan.args[1].alignment, 2U);
  EXPECT_EQ(total_bytes(plan.args), 2U * 4096 * 1024 * 2);
  EXPECT_THAT(plan.maps, IsEmpty());
  EXPECT_THAT(plan.workspaces, IsEmpty());
}

TEST(Plan, values_are_computed_for_the_problem_and_the_config_once_each) {
  ImplementationRecipe recipe = gemm_tma();
  recipe.values = {
      {"unused", formula("m / 0")}, {"k_blocks", formula("ceil_div(k, block_k)")}, {"sms", formula("sm_count")}};
  recipe.kernels[0].params = {{Kind::value, "sms"}, {Kind::value, "k_blocks"}};
  recipe.kernels[1].params = {{Kind::value, "k_blocks"}};
  const LaunchPlan plan = legal(plan_gemm(kTma, kGemm, recipe));
  ASSERT_THAT(plan.values, SizeIs(2));
  EXPECT_EQ(plan.values[0].value, 132);
  EXPECT_EQ(plan.values[1].value, 16);
  EXPECT_THAT(plan.kernels[0].params, ElementsAre(PlannedParam{Kind::value, 0}, PlannedParam{Kind::value, 1}));
  EXPECT_THAT(plan.kernels[1].params, ElementsAre(PlannedParam{Kind::value, 1}));
}

TEST(Plan, several_kernels_share_a_workspace_and_use_maps_and_a_cluster) {
  const LaunchPlan plan = legal(plan_gemm(kTma, kGemm));
  ASSERT_THAT(plan.kernels, SizeIs(2));
  const PlannedKernel& main = plan.kernels[0];
  EXPECT_THAT(main.grid, ElementsAre(4, 8, 4));  // 300 rows in blocks of 128 are 3, for clusters of 2 they are 4
  EXPECT_THAT(main.block, ElementsAre(128, 2, 1));
  EXPECT_THAT(main.cluster, ElementsAre(2, 1, 1));
  EXPECT_EQ(main.shared_bytes, (128U + 64) * 64 * 2);
  EXPECT_THAT(main.params,
              ElementsAre(PlannedParam{Kind::map, 0}, PlannedParam{Kind::ptr, 1}, PlannedParam{Kind::map, 1},
                          PlannedParam{Kind::ptr, 2}, PlannedParam{Kind::scalar, 3}, PlannedParam{Kind::ptr, 4},
                          PlannedParam{Kind::workspace, 0}, PlannedParam{Kind::dim, 2}));
  const PlannedKernel& reduce = plan.kernels[1];
  EXPECT_EQ(reduce.entry, "gemm_reduce");
  EXPECT_THAT(reduce.grid, ElementsAre(132, 1, 1));
  EXPECT_THAT(reduce.params, ElementsAre(PlannedParam{Kind::workspace, 0}, PlannedParam{Kind::ptr, 4},
                                         PlannedParam{Kind::dim, 0}, PlannedParam{Kind::dim, 1}));
  ASSERT_THAT(plan.workspaces, SizeIs(1));
  EXPECT_EQ(plan.workspaces[0].name, "partial");
  EXPECT_EQ(plan.workspaces[0].bytes, 4U * 300 * 512 * 4);
  EXPECT_EQ(plan.workspaces[0].zero, WorkspaceRecipe::Zero::each);
  ASSERT_THAT(plan.maps, SizeIs(2));
  EXPECT_EQ(plan.maps[0].index, 0U);
  EXPECT_THAT(plan.maps[0].dims, ElementsAre(1024, 300));
  EXPECT_THAT(plan.maps[0].strides, ElementsAre(2048));
  EXPECT_THAT(plan.maps[0].box, ElementsAre(64, 128));
  EXPECT_EQ(plan.maps[0].swizzle, 128U);
  EXPECT_EQ(plan.maps[1].index, 2U);
  EXPECT_EQ(plan.maps[1].type, DType::f32);
}

TEST(Plan, a_kernel_whose_condition_is_false_is_left_out_with_what_only_it_uses) {
  ImplementationRecipe recipe = gemm_tma();
  recipe.kernels[0].params.erase(recipe.kernels[0].params.begin() + 6);  // the workspace
  const LaunchPlan plan = legal(plan_gemm(kTmaWhole, kGemm, recipe));
  ASSERT_THAT(plan.kernels, SizeIs(1));
  EXPECT_EQ(plan.kernels[0].entry, "gemm_tma");
  EXPECT_THAT(plan.workspaces, IsEmpty());
  EXPECT_THAT(legal(plan_gemm(kTma, kGemm, recipe)).workspaces, SizeIs(1));
}

TEST(Plan, formulas_of_what_is_left_out_are_not_judged) {
  ImplementationRecipe recipe = gemm_tma();
  recipe.kernels[1].block = formulas({"4096"});
  recipe.workspaces.push_back({"unused", formula("-1"), WorkspaceRecipe::Zero::never});
  EXPECT_THAT(legal(plan_gemm(kTmaWhole, kGemm, recipe)).kernels, SizeIs(1));
  EXPECT_THAT(illegal(plan_gemm(kTma, kGemm, recipe)).reason, HasSubstr("the block of gemm_reduce"));
}

TEST(Plan, a_plan_with_no_kernel_is_illegal) {
  ImplementationRecipe recipe = softmax_onchip();
  recipe.kernels[0].when = formula("rows > 4");
  EXPECT_EQ(illegal(plan_softmax("onchip{num_warps=1,vec=1,static_dims=0}", "softmax{rows=4,cols=8}", hopper(), recipe))
                .reason,
            "it launches no kernel: `when` is false for each");
}

TEST(Plan, parameters_of_an_absent_argument_are_absent) {
  const LaunchPlan plan = legal(plan_gemm(kTma, "gemm[bias=no]{m=300,n=512,k=1024}"));
  ASSERT_THAT(plan.args, SizeIs(4));
  const std::vector<PlannedParam>& params = plan.kernels[0].params;
  EXPECT_THAT(params, SizeIs(8));
  EXPECT_EQ(params[2], (PlannedParam{Kind::map, PlannedParam::kAbsent}));
  EXPECT_EQ(params[3], (PlannedParam{Kind::ptr, PlannedParam::kAbsent}));
  EXPECT_TRUE(params[3].is_absent());
  EXPECT_FALSE(params[0].is_absent());
  EXPECT_EQ(params[4], (PlannedParam{Kind::scalar, 2}));
  EXPECT_EQ(params[5], (PlannedParam{Kind::ptr, 3}));
  EXPECT_THAT(plan.maps, SizeIs(1));
}

TEST(Plan, an_absent_argument_needs_no_alignment) {
  ImplementationRecipe recipe = gemm_tma();
  recipe.align["bias"] = formula("3");
  EXPECT_NO_THROW((void)legal(plan_gemm(kTma, "gemm[bias=no]{m=300,n=512,k=1024}", recipe)));
  EXPECT_EQ(illegal(plan_gemm(kTma, kGemm, recipe)).reason, "the alignment of bias is 3 bytes, not a power of two");
}

TEST(Plan, a_mapped_argument_is_aligned_for_the_hardware) {
  ImplementationRecipe recipe = gemm_tma();
  EXPECT_EQ(legal(plan_gemm(kTma, kGemm, recipe)).args[2].alignment, 16U);
  recipe.align["bias"] = formula("128");
  EXPECT_EQ(legal(plan_gemm(kTma, kGemm, recipe)).args[2].alignment, 128U);
}

TEST(Plan, a_recipe_never_lowers_the_alignment_of_the_interface) {
  ImplementationRecipe recipe = gemm_tma();
  recipe.align["b"] = formula("2");
  EXPECT_EQ(legal(plan_gemm(kTma, kGemm, recipe)).args[1].alignment, 16U);
}

TEST(Plan, an_architecture_that_the_device_does_not_have_comes_first) {
  const Illegal why = illegal(plan_gemm(kTma, "gemm{m=1,n=1,k=7}", gemm_tma(), ampere()));
  EXPECT_EQ(why.reason, "needs sm_90a; the device is sm_80");
  EXPECT_EQ(why.rule, "needs sm_90a");
  EXPECT_EQ(illegal(plan_gemm(kTma, kGemm, gemm_tma(), emulator_facts())).reason, "needs sm_90a; the device is cpu");
}

TEST(Plan, a_constraint_that_is_false_tells_the_values_of_its_names) {
  const Illegal why = illegal(plan_softmax("onchip{num_warps=4,vec=8,static_dims=1}", "softmax{rows=4,cols=1001}"));
  EXPECT_EQ(why.reason, "constraint `cols % vec == 0` is false (cols=1001, vec=8)");
  EXPECT_EQ(why.rule, "constraint `cols % vec == 0`");
  EXPECT_EQ(illegal(plan_softmax("onchip{num_warps=1,vec=1,static_dims=1}", "softmax{rows=4,cols=4096}")).reason,
            "constraint `ceil_div(cols, num_warps * 32 * vec) * vec <= 64` is false (cols=4096, num_warps=1, vec=1)");
}

TEST(Plan, constraints_are_judged_before_the_launch_and_in_their_order) {
  ImplementationRecipe recipe = softmax_onchip();
  recipe.kernels[0].block = formulas({"0"});
  recipe.constraints = formulas({"true", "vec == 1", "false"});
  EXPECT_EQ(illegal(plan_softmax("onchip{num_warps=4,vec=8,static_dims=1}", "softmax{rows=4,cols=8}", hopper(), recipe))
                .reason,
            "constraint `vec == 1` is false (vec=8)");
}

TEST(Plan, a_tensor_map_that_the_hardware_does_not_take_is_illegal) {
  const Illegal why = illegal(plan_gemm("tma{block_m=128,block_n=64,block_k=128,split_k=1,cluster=2}", kGemm));
  EXPECT_EQ(why.reason, "tensor map a: a row of the box is 256 bytes, more than the swizzle of 128");
  EXPECT_EQ(why.rule, "tensor map a");
}

TEST(Plan, a_map_over_a_workspace_brings_it_and_needs_no_alignment_of_an_argument) {
  ImplementationRecipe recipe = gemm_tma();
  recipe.maps[1].arg.clear();
  recipe.maps[1].workspace = "padded";
  recipe.workspaces.push_back({"padded", formula("n * sizeof(dtype)")});
  const LaunchPlan plan = legal(plan_gemm(kTma, kGemm, recipe));
  ASSERT_THAT(plan.maps, SizeIs(2));
  ASSERT_THAT(plan.workspaces, SizeIs(2));
  EXPECT_EQ(plan.maps[1].over, PlannedMap::Over::workspace);
  EXPECT_EQ(plan.workspaces.at(plan.maps[1].index).name, "padded");
  EXPECT_EQ(plan.maps[1].type, plan.args[0].type) << "the op's";
  EXPECT_EQ(plan.args[2].alignment, 4U);
  recipe.maps[1].type = DType::f32;
  const Illegal why = illegal(plan_gemm(kTma, kGemm, recipe));
  EXPECT_EQ(why.reason, "tensor map bias_map: its extents take 2048 bytes, and workspace 'padded' has 1024");
  EXPECT_EQ(why.rule, "tensor map bias_map");
  recipe.workspaces[1].bytes = formula("-n");
  EXPECT_THAT(illegal(plan_gemm(kTma, kGemm, recipe)).reason, HasSubstr("workspace padded is -512 bytes"));
}

TEST(Plan, a_workspace_of_negative_size_is_illegal_and_an_empty_one_is_not) {
  ImplementationRecipe recipe = gemm_tma();
  recipe.workspaces[0].bytes = formula("split_k - 5");
  EXPECT_EQ(illegal(plan_gemm(kTma, kGemm, recipe)).reason, "workspace partial is -1 bytes (split_k=4)");
  recipe.workspaces[0].bytes = formula("split_k - 4");
  EXPECT_EQ(legal(plan_gemm(kTma, kGemm, recipe)).workspaces.at(0).bytes, 0U);
}

TEST(Plan, an_alignment_that_is_not_a_power_of_two_is_illegal) {
  const Illegal why = illegal(plan_softmax("onchip{num_warps=4,vec=3,static_dims=1}", "softmax{rows=4,cols=9}"));
  EXPECT_EQ(why.reason, "the alignment of x is 12 bytes, not a power of two (vec=3)");
  EXPECT_EQ(why.rule, "the alignment of x");
  ImplementationRecipe recipe = softmax_onchip();
  recipe.align["x"] = formula("0");
  EXPECT_THAT(
      illegal(plan_softmax("onchip{num_warps=4,vec=1,static_dims=1}", "softmax{rows=4,cols=9}", hopper(), recipe))
          .reason,
      HasSubstr("is 0 bytes, not a power of two"));
}

TEST(Plan, the_first_kernel_never_overlaps_and_the_next_only_from_sm_90_on) {
  ImplementationRecipe recipe = softmax_onchip();
  recipe.kernels[0].pdl = true;
  recipe.kernels.push_back(recipe.kernels[0]);
  const std::string config = "onchip{num_warps=4,vec=1,static_dims=1}";
  const auto overlaps = [&](const DeviceFacts& device) {
    const LaunchPlan plan = legal(plan_softmax(config, "softmax{rows=4,cols=9}", device, recipe));
    return std::vector<bool>{plan.kernels[0].pdl, plan.kernels[1].pdl};
  };
  EXPECT_THAT(overlaps(hopper()), ElementsAre(false, true));
  EXPECT_THAT(overlaps(ampere()), ElementsAre(false, false));
  EXPECT_THAT(overlaps(emulator_facts()), ElementsAre(false, false));
  recipe.kernels[0].when = formula("false");
  EXPECT_FALSE(legal(plan_softmax(config, "softmax{rows=4,cols=9}", hopper(), recipe)).kernels.at(0).pdl);
}

TEST(Plan, a_formula_that_cannot_be_evaluated_is_a_mistake_of_the_definition) {
  ImplementationRecipe recipe = softmax_onchip();
  recipe.constraints[0] = Formula::parse("cols % vek == 0", {"softmax.toml", 20, 5});
  EXPECT_EQ(error_of<DefinitionError>([&] {
              (void)plan_softmax("onchip{num_warps=4,vec=1,static_dims=1}", "softmax{rows=4,cols=9}", hopper(), recipe);
            }),
            "softmax.toml:20:12: unknown name 'vek' in `cols % vek == 0`; did you mean 'vec'?");
  recipe.constraints.clear();
  recipe.kernels[0].grid = formulas({"rows * rows"});
  EXPECT_THAT(error_of<DefinitionError>([&] {
                (void)plan_softmax("onchip{num_warps=4,vec=1,static_dims=1}", "softmax{rows=4294967296,cols=1}",
                                   hopper(), recipe);
              }),
              HasSubstr("4294967296 * 4294967296 overflows 64 bits"));
}

TEST(Plan, dims_too_large_for_memory_are_the_callers_mistake) {
  EXPECT_THAT(error_of<UsageError>([&] {
                (void)plan_softmax("onchip{num_warps=4,vec=1,static_dims=1}",
                                   "softmax{rows=4611686018427387904,cols=2}");
              }),
              HasSubstr("choose smaller dims"));
}

TEST(Plan, a_recipe_that_names_what_does_not_exist_is_a_mistake_of_the_definition) {
  const std::pair<KernelParam, const char*> cases[] = {
      {{Kind::ptr, "bais"}, "there is no argument 'bais'"},  {{Kind::scalar, "beta"}, "there is no argument 'beta'"},
      {{Kind::dim, "rows"}, "there is no dim 'rows'"},       {{Kind::map, "b"}, "there is no tensor map 'b'"},
      {{Kind::workspace, "w"}, "there is no workspace 'w'"}, {{Kind::value, "v"}, "there is no value 'v'"},
  };
  for (const auto& [param, message] : cases) {
    ImplementationRecipe recipe = gemm_tma();
    recipe.kernels[0].params.push_back(param);
    EXPECT_EQ(error_of<DefinitionError>([&] { (void)plan_gemm(kTma, kGemm, recipe); }),
              std::string("implementation tma of gemm: ") + message);
  }
  const std::pair<std::function<void(ImplementationRecipe&)>, const char*> others[] = {
      {[](ImplementationRecipe& recipe) { recipe.align["d"] = formula("16"); }, "there is no argument 'd'"},
      {[](ImplementationRecipe& recipe) { recipe.align["alpha"] = formula("16"); }, "the scalar 'alpha' is aligned"},
      {[](ImplementationRecipe& recipe) { recipe.maps[0].arg = "d"; }, "there is no argument 'd'"},
      {[](ImplementationRecipe& recipe) { recipe.maps[0].workspace = "w"; }, "there is no workspace 'w'"},
  };
  for (const auto& [change, message] : others) {
    ImplementationRecipe recipe = gemm_tma();
    change(recipe);
    EXPECT_EQ(error_of<DefinitionError>([&] { (void)plan_gemm(kTma, kGemm, recipe); }),
              std::string("implementation tma of gemm: ") + message);
  }
}

TEST(Plan, a_config_of_another_recipe_is_refused) {
  for (const char* config : {"online{num_warps=4,vec=1,static_dims=1}", "onchip{num_warps=4,vec=1}", "onchip{}",
                             "onchip{vec=1,num_warps=4,static_dims=1}", "onchip{num_warps=4,vec=1,static_dims=1,x=1}",
                             "onchip{num_warps=4,wec=1,static_dims=1}"}) {
    EXPECT_EQ(
        error_of<UsageError>([&] { (void)plan_softmax(config, "softmax{rows=4,cols=9}"); }),
        Config::parse(config).text() + " is not a config of onchip, whose parameters are: num_warps, vec, static_dims");
  }
}

TEST(Plan, a_stored_recipe_plans_as_the_one_that_was_written) {
  const ImplementationRecipe stored = recipe_from_json(to_json(gemm_tma()));
  const OpInterface interface = interface_from_json(to_json(gemm()));
  const Outcome outcome = make_plan(interface, stored, Config::parse(kTma), parse_problem(kGemm, interface), hopper());
  EXPECT_THAT(legal(outcome).kernels, SizeIs(2));
  EXPECT_EQ(legal(outcome).kernels[0].params, legal(plan_gemm(kTma, kGemm)).kernels[0].params);
}

}  // namespace
}  // namespace tilewright::plan_test
