// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <fstream>

#include "cache/base/error.hpp"
#include "tests/unit/definition/helpers.hpp"

namespace tilewright::test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::string> texts(const std::vector<Formula>& formulas) {
  std::vector<std::string> result;
  for (const Formula& formula : formulas) result.push_back(formula.text());
  return result;
}

std::vector<std::string> texts(const std::vector<KernelParam>& params) {
  std::vector<std::string> result;
  for (const KernelParam& param : params) result.push_back(text(param));
  return result;
}

TEST(LoadDefinition, reads_the_interface) {
  const OpInterface interface = load_mix().interface;
  EXPECT_EQ(interface.op, "mix");
  EXPECT_THAT(interface.dims, ElementsAre("m", "n", "k"));
  EXPECT_THAT(interface.dtypes, ElementsAre(DType::f16, DType::bf16));
  ASSERT_EQ(interface.attributes.size(), 3U);
  EXPECT_EQ(interface.attributes[0].name, "layout") << "attributes keep the order of the file";
  EXPECT_THAT(interface.attributes[2].values, ElementsAre("none", "relu", "gelu"));

  std::vector<std::string> args;
  for (const Argument& arg : interface.args) {
    args.push_back(fmt::format("{} {} {} {} {}", arg.name, name(arg.role), arg.type ? name(*arg.type) : "dtype",
                               arg.align, arg.when ? arg.when->text() : "always"));
  }
  EXPECT_THAT(args, ElementsAre("a in dtype 8 always", "b in dtype 8 always", "bias in f32 1 bias == 'yes'",
                                "c in dtype 1 always", "d out dtype 1 always", "count inout i32 1 always",
                                "alpha scalar f32 1 always", "seed scalar u64 1 act == 'gelu'"));
  EXPECT_THAT(texts(interface.args[1].shape),
              ElementsAre("select(layout == 'nt', n, k)", "select(layout == 'nt', k, n)"));
  EXPECT_THAT(texts(interface.args[5].shape), ElementsAre("1"));
  EXPECT_THAT(interface.args[4].alias, ElementsAre("c")) << "spaces in a shape do not tell it from another";
}

TEST(LoadDefinition, reads_what_the_tuner_needs) {
  const OpDefinition mix = load_mix();
  EXPECT_EQ(mix.summary, "d = act(alpha * a * b + bias + c), split over k");
  EXPECT_EQ(mix.file, data_dir() / "ops/mix/mix.toml");
  EXPECT_EQ(mix.reference.source, data_dir() / "ops/mix/mix.cu");
  EXPECT_EQ(mix.reference.entry, "mix_reference");
  EXPECT_EQ(mix.reference.grid.text(), "min(ceil_div(1 * (m) * ( n ), 256), 4096)");
  ASSERT_EQ(mix.tolerance.size(), 1U);
  EXPECT_FALSE(mix.tolerance[0].when);
  EXPECT_EQ(mix.tolerance[0].by_type.at(DType::bf16).absolute, 1e-2);
  EXPECT_EQ(mix.tolerance[0].by_type.at(DType::bf16).relative, 16e-3);
  EXPECT_FALSE(mix.reference.sampled);
  EXPECT_EQ(mix.samples.at("a").fill, "uniform");
  EXPECT_EQ(mix.samples.at("a").scale, 0.5);
  EXPECT_EQ(mix.samples.at("b").scale, 1.0);
  EXPECT_EQ(mix.samples.at("seed").fill, "value");
  EXPECT_EQ(mix.samples.at("seed").scale, 7.0);
  EXPECT_FALSE(mix.samples.contains("c"));
  EXPECT_THAT(mix.grid, ElementsAre(Pair("m", "64..4096x8"), Pair("n", "4096"), Pair("k", "4096")));
  EXPECT_THAT(mix.emulator_grid, ElementsAre(Pair("m", "1,17"), Pair("n", "32"), Pair("k", "64")));
  EXPECT_EQ(mix.base.text(), "plain{num_warps=4}");
}

TEST(LoadDefinition, reads_an_implementation) {
  const OpDefinition mix = load_mix();
  ASSERT_EQ(mix.implementations.size(), 2U);
  const Implementation& tma = mix.implementation("tma");
  EXPECT_EQ(tma.recipe.requires_arch, "sm_90a");
  EXPECT_THAT(tma.recipe.parameters, ElementsAre("block_m", "block_k", "split_k", "cluster", "static_dims"))
      << "parameters keep the order of the file";
  EXPECT_THAT(tma.space.at(2).values, ElementsAre(1, 2, 4));
  EXPECT_THAT(texts(tma.recipe.constraints),
              ElementsAre("k % (block_k * split_k) == 0", "n % 8 == 0", "m % cluster == 0 or cluster == 1"));
  EXPECT_THAT(tma.recipe.specialize, ElementsAre("n", "k"));
  EXPECT_EQ(tma.recipe.align.at("a").text(), "16");
  EXPECT_EQ(tma.recipe.align.at("b").text(), "8 * sizeof(dtype)");
  EXPECT_EQ(tma.source, data_dir() / "ops/mix/mix.cu");
  EXPECT_EQ(tma.hash.size(), 32U);
}

TEST(LoadDefinition, reads_kernels_with_their_launch) {
  const ImplementationRecipe recipe = load_mix().implementation("tma").recipe;
  ASSERT_EQ(recipe.kernels.size(), 2U);
  const KernelRecipe& first = recipe.kernels[0];
  EXPECT_EQ(first.entry, "mix_tma");
  EXPECT_EQ(first.when.text(), "true");
  EXPECT_THAT(texts(first.params),
              ElementsAre("map:a", "map:b", "ptr:bias", "ptr:c", "ptr:d", "ptr:count", "workspace:parts",
                          "workspace:ticket", "scalar:alpha", "scalar:seed", "dim:m", "dim:n", "dim:k"));
  EXPECT_THAT(texts(first.grid), ElementsAre("min(ceil_div(m, block_m), resident_blocks)", "split_k", "1"));
  EXPECT_THAT(texts(first.block), ElementsAre("128"));
  EXPECT_EQ(first.shared_bytes.text(), "4 * block_m * block_k * sizeof(dtype)");
  EXPECT_THAT(texts(first.cluster), ElementsAre("cluster", "1"));
  EXPECT_TRUE(first.nonportable_cluster);
  EXPECT_FALSE(first.pdl);
  const KernelRecipe& second = recipe.kernels[1];
  EXPECT_EQ(second.when.text(), "split_k > 1");
  EXPECT_EQ(second.shared_bytes.text(), "0");
  EXPECT_THAT(second.cluster, testing::IsEmpty());
  EXPECT_TRUE(second.pdl);
}

TEST(LoadDefinition, gives_a_kernel_that_lists_no_parameters_those_of_the_op) {
  constexpr std::string_view kListed =
      "params = [\"ptr:x\", \"ptr:y\", \"scalar:eps\", \"workspace:sums\", \"dim:rows\", \"dim:cols\"]\n";
  std::string source = replaced(kMiniSource, "float eps, float* sums,\n", "float eps,\n");
  const std::string toml =
      replaced(replaced(kMiniToml, kListed, ""), "workspace.sums = { bytes = \"rows * 4\", zero = \"each\" }\n", "");
  const TempFolder folder;
  const auto params_of_simple = [&](const std::string& text) {
    return texts(load_definition(folder.write_mini(text, source), {kernels_source_dir()})
                     .implementation("simple")
                     .recipe.kernels[0]
                     .params);
  };
  EXPECT_THAT(params_of_simple(toml), ElementsAre("ptr:x", "ptr:y", "scalar:eps", "dim:rows", "dim:cols"));
  const std::string listed =
      replaced(toml, "bytes = \"2", "params = [\"dim:cols\", \"ptr:x\", \"ptr:y\"]\nbytes = \"2");
  EXPECT_THAT(
      mistakes_of(folder.write_mini(listed, source)),
      ElementsAre(testing::HasSubstr("kernel 'mini_simple' takes 5 parameters in mini.cu, and 'params' gives it 3")));
  const std::string wrong = replaced(
      toml, "bytes = \"2", "params = [\"dim:cols\", \"ptr:x\", \"ptr:z\", \"dim:rows\", \"scalar:eps\"]\nbytes = \"2");
  EXPECT_THAT(mistakes_of(folder.write_mini(wrong, source)),
              ElementsAre(testing::HasSubstr("'ptr:z': the op has no tensor 'z'; known: x, y")))
      << "and nothing that follows from it";
  source = replaced(source,
                    "mini_simple(const typename Config::dtype* x, typename Config::dtype* y, float eps,\n              "
                    "              long long rows, long long cols)",
                    "mini_simple(long long cols, const typename Config::dtype* x, typename Config::dtype* y)");
  EXPECT_THAT(params_of_simple(listed), ElementsAre("dim:cols", "ptr:x", "ptr:y"));
}

TEST(LoadDefinition, collects_maps_and_workspaces_of_all_kernels_once_each) {
  const ImplementationRecipe recipe = load_mix().implementation("tma").recipe;
  ASSERT_EQ(recipe.maps.size(), 2U);
  EXPECT_EQ(recipe.maps[0].name, "a");
  EXPECT_EQ(recipe.maps[0].arg, "a");
  EXPECT_THAT(texts(recipe.maps[0].dims), ElementsAre("k", "m"));
  EXPECT_THAT(texts(recipe.maps[0].box), ElementsAre("block_k", "block_m"));
  EXPECT_THAT(recipe.maps[0].strides, testing::IsEmpty());
  EXPECT_EQ(recipe.maps[0].swizzle.text(), "select(block_k == 64, 128, 64)");
  EXPECT_THAT(texts(recipe.maps[1].strides), ElementsAre("k * sizeof(dtype)"));
  ASSERT_EQ(recipe.workspaces.size(), 2U);
  EXPECT_EQ(recipe.workspaces[0].name, "parts");
  EXPECT_EQ(recipe.workspaces[0].bytes.text(), "split_k * m * n * 4");
  EXPECT_EQ(recipe.workspaces[0].zero, WorkspaceRecipe::Zero::never);
  EXPECT_EQ(recipe.workspaces[1].zero, WorkspaceRecipe::Zero::once);
}

TEST(LoadDefinition, reads_values_that_the_host_computes) {
  const ImplementationRecipe recipe = load_mix().implementation("tma").recipe;
  ASSERT_EQ(recipe.values.size(), 1U);
  EXPECT_EQ(recipe.values[0].name, "parts_of_k");
  EXPECT_EQ(recipe.values[0].value.text(), "k / split_k");
  EXPECT_EQ(text(recipe.kernels[1].params.back()), "value:parts_of_k");
}

TEST(LoadDefinition, gives_what_is_left_out_its_default) {
  const ImplementationRecipe plain = load_mix().implementation("plain").recipe;
  EXPECT_EQ(plain.requires_arch, "sm_80");
  EXPECT_THAT(plain.constraints, testing::IsEmpty());
  EXPECT_THAT(plain.specialize, testing::IsEmpty());
  EXPECT_THAT(plain.align, testing::IsEmpty());
}

TEST(LoadDefinition, keeps_the_place_of_every_formula) {
  const ImplementationRecipe recipe = load_mix().implementation("tma").recipe;
  const SourcePlace place = recipe.constraints.at(1).place();
  EXPECT_EQ(place.file, (data_dir() / "ops/mix/mix.toml").string());
  EXPECT_EQ(place.line, 59);
  EXPECT_EQ(place.column, 49);
}

TEST(LoadDefinition, takes_the_small_definition_of_these_tests) {
  const TempFolder folder;
  EXPECT_THAT(mistakes_of(folder.write_mini(kMiniToml, kMiniSource)), testing::IsEmpty());
}

TEST(LoadDefinition, takes_an_implementation_with_one_config) {
  const TempFolder folder;
  const std::string toml = replaced(kMiniToml, "box = [\"block\", 1]", "box = [32, 1]");
  const auto file = folder.write_mini(replaced(toml, "space = { block = [32, 64] }\n", ""), kMiniSource);
  EXPECT_THAT(load_definition(file, {kernels_source_dir()}).implementation("mapped").space, testing::IsEmpty());
}

/// The lines of data/broken/mistakes.txt, in which `{folder}` stands for its folder.
std::vector<std::string> expected_mistakes(const std::filesystem::path& folder) {
  std::vector<std::string> lines;
  std::ifstream stream(folder / "mistakes.txt");
  for (std::string line; std::getline(stream, line);) {
    if (line.find("{folder}") != std::string::npos) line = replaced(line, "{folder}", folder.string());
    lines.push_back((folder / line).string());
  }
  return lines;
}

TEST(LoadDefinition, reports_every_mistake_at_once_in_the_order_of_the_file) {
  const std::filesystem::path folder = data_dir() / "broken";
  const std::vector<std::string> expected = expected_mistakes(folder);
  ASSERT_GT(expected.size(), 35U);
  try {
    static_cast<void>(load_definition(folder / "broken.toml", {kernels_source_dir()}));
    FAIL() << "loaded";
  } catch (const DefinitionError& error) {
    std::vector<std::string> found;
    for (const Diagnostic& mistake : error.mistakes()) found.push_back(mistake.text());
    EXPECT_THAT(found, testing::ElementsAreArray(expected));
    EXPECT_EQ(error.what(), fmt::format("{}", fmt::join(expected, "\n")));
  }
}

TEST(LoadDefinition, stops_at_what_is_not_TOML) {
  const TempFolder folder;
  const auto file = folder.write("x.toml", "[op]\nname = \"x\ndims = 3\n");
  const std::vector<std::string> mistakes = mistakes_of(file);
  ASSERT_EQ(mistakes.size(), 1U);
  EXPECT_THAT(mistakes[0], testing::StartsWith("2:10: not TOML: "));
}

TEST(LoadDefinition, needs_an_op_and_an_implementation) {
  const TempFolder folder;
  EXPECT_THAT(mistakes_of(folder.write("x.toml", "")),
              ElementsAre("1:1: the definition has no 'op'", "1:1: the definition has no 'implementation'"));
}

TEST(LoadDefinition, says_that_a_file_cannot_be_read) {
  EXPECT_THROW(static_cast<void>(load_definition("/nowhere/x.toml", {})), Error);
}

}  // namespace
}  // namespace tilewright::test
