// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/unit/definition/helpers.hpp"
#include "tests/unit/definition/spoiled.hpp"
#include "tuner/definition/reading/device_code.hpp"

namespace tilewright::test {
namespace {

class KernelMistake : public testing::TestWithParam<Spoiled> {};

TEST_P(KernelMistake, is_the_one_reported) { expect_mistake(GetParam()); }

const Spoiled kSpoiledKernels[] = {
    {"entry_not_in_the_source", "entry = \"mini_mapped\"", "entry = \"mini_maped\"", "\"mini_maped\"",
     "there is no kernel 'mini_maped' in mini.cu; did you mean 'mini_mapped'?"},
    {"params_too_few", "\"dim:rows\", \"dim:cols\"]\ngrid", "\"dim:rows\"]\ngrid", "\"mini_simple\"",
     "kernel 'mini_simple' takes 6 parameters in mini.cu, and 'params' gives it 5: it takes (const typename "
     "Config::dtype* x, typename Config::dtype* y, float eps, float* sums, long long rows, long long cols) and is "
     "given "
     "(pointer x, pointer y, float eps, pointer sums, long long rows)"},
    {"params_in_another_order", "\"ptr:y\", \"scalar:eps\"", "\"scalar:eps\", \"ptr:y\"", "\"mini_simple\"",
     "kernel 'mini_simple' takes 6 parameters in mini.cu, and 'params' gives it 6: it takes (const typename "
     "Config::dtype* x, typename Config::dtype* y, float eps, float* sums, long long rows, long long cols) and is "
     "given "
     "(pointer x, float eps, pointer y, pointer sums, long long rows, long long cols)"},
    {"param_without_a_kind", "\"ptr:y\", \"scalar:eps\"", "\"y\", \"scalar:eps\"", "\"y\"",
     "'y' is not a kernel parameter; write KIND:NAME, as in \"ptr:x\"; known: ptr, dim, scalar, map, workspace, value"},
    {"param_of_an_unknown_kind", "\"ptr:y\", \"scalar:eps\"", "\"pointer:y\", \"scalar:eps\"", "\"pointer:y\"",
     "'pointer:y' is not a kernel parameter; write KIND:NAME, as in \"ptr:x\"; known: ptr, dim, scalar, map, "
     "workspace, value"},
    {"ptr_of_a_scalar", "\"scalar:eps\"", "\"ptr:eps\"", "\"ptr:eps\"",
     "'ptr:eps': the op has no tensor 'eps'; known: x, y"},
    {"scalar_of_a_tensor", "\"scalar:eps\"", "\"scalar:x\"", "\"scalar:x\"",
     "'scalar:x': the op has no scalar 'x'; known: eps"},
    {"dim_unknown", "\"dim:rows\", \"dim:cols\"", "\"dim:rows\", \"dim:col\"", "\"dim:col\"",
     "'dim:col': the op has no dim 'col'; did you mean 'cols'?"},
    {"workspace_not_defined", "\"workspace:sums\"", "\"workspace:sum\"", "\"workspace:sum\"",
     "'workspace:sum': no workspace of that name is defined; did you mean 'sums'?"},
    {"workspace_that_nobody_takes", "zero = \"each\" }\n", "zero = \"each\" }\nworkspace.more = { bytes = 4 }\n",
     "more", "workspace 'more' is defined, and no kernel takes it"},
    {"workspace_without_bytes", "bytes = \"rows * 4\", zero", "zero", "{ zero", "workspace 'sums' has no 'bytes'"},
    {"workspace_zeroed_at_unknown_times", "\"each\"", "\"always\"", "\"always\"",
     "'zero' in workspace 'sums': unknown 'always'; known: never, once, each"},
    {"value_not_defined", "\"dim:cols\"]\ngrid", "\"value:chunks\"]\ngrid", "\"value:chunks\"",
     "'value:chunks': no value of that name is defined; there are none"},
    {"value_that_nobody_takes", "zero = \"each\" }\n", "zero = \"each\" }\nvalue.chunks = \"cols / num_warps\"\n",
     "chunks", "value 'chunks' is defined, and no kernel takes it"},
    {"value_with_an_unknown_name", "\"dim:cols\"]\ngrid",
     "\"value:chunks\"]\nvalue.chunks = \"colz / num_warps\"\ngrid", "colz",
     "unknown name 'colz' in `colz / num_warps`; did you mean 'cols'?"},
    {"value_with_a_fact_of_launching", "\"dim:cols\"]\ngrid",
     "\"value:chunks\"]\nvalue.chunks = \"resident_blocks\"\ngrid", "resident_blocks\"\ngrid",
     "unknown name 'resident_blocks' in `resident_blocks`; only a kernel's grid can use it"},
    {"map_not_defined", "params = [\"map:x\"", "params = [\"map:xx\"", "\"map:xx\"",
     "'map:xx': no tensor map of that name is defined; did you mean 'x'?"},
    {"map_that_nobody_takes", "swizzle = 64 }\n", "swizzle = 64 }\nmap.z = { arg = \"y\", dims = [8], box = [8] }\n",
     "z = {", "tensor map 'z' is defined, and no kernel takes it"},
    {"map_of_an_unknown_argument", "{ arg = \"x\"", "{ arg = \"eps\"", "\"eps\"",
     "tensor map 'x': the op has no tensor 'eps'; known: x, y"},
    {"map_with_a_scalar_that_is_no_stride", "swizzle = 64 }\n", "strides = [\"scalar:eps\"], swizzle = 64 }\n",
     "\"scalar:eps\"", "'strides' in tensor map 'x': 'eps' is not a stride of 'x'; there are none"},
    {"map_with_too_many_strides_of_the_call", "swizzle = 64 }\n", "strides = [\"scalar:n\", \"64\"], swizzle = 64 }\n",
     "[\"scalar:n\"", "'strides' in tensor map 'x' are 2, and the map has 2 dims: write one stride fewer"},
    {"map_over_nothing", "arg = \"x\", ", "", "{ dims", "tensor map 'x' has no 'arg' and no 'workspace'"},
    {"map_over_two_things", "map.x = { arg = \"x\"",
     "workspace.w = { bytes = \"rows * cols * 4\" }\nmap.x = { arg = \"x\", workspace = \"w\"", "\"x\", workspace",
     "tensor map 'x' has an 'arg' and a 'workspace': write one of them"},
    {"map_of_an_argument_with_a_type", "{ arg = \"x\"", "{ arg = \"x\", type = \"dtype\"", "\"dtype\"",
     "'type' in tensor map 'x': the argument has a type of its own"},
    {"map_over_a_workspace_of_an_unknown_type", "map.x = { arg = \"x\"",
     "workspace.w = { bytes = 4 }\nmap.x = { workspace = \"w\", type = \"f33\"", "\"f33\"",
     "'type' in tensor map 'x': unknown type 'f33'; did you mean 'f32'?"},
    {"map_over_a_workspace_that_is_not_defined", "{ arg = \"x\"", "{ workspace = \"sums\"", "\"sums\"",
     "'sums': no workspace of that name is defined; there are none"},
    {"map_over_a_workspace_without_a_name", "{ arg = \"x\"", "{ workspace = 3", "3,",
     "'workspace' in tensor map 'x' must be a text, and is an integer"},
    {"map_with_another_rank_of_its_box", "box = [\"block\", 1]", "box = [\"block\"]", "[\"block\"]",
     "'box' in tensor map 'x' must hold 2 formulas, and holds 1"},
    {"map_with_too_many_strides", "swizzle = 64", "strides = [16, 32], swizzle = 64", "[16, 32]",
     "'strides' in tensor map 'x' must hold 1 formula, and holds 2"},
    {"map_with_too_many_dims", "dims = [\"cols\", \"rows\"], box = [\"block\", 1]",
     "dims = [8, 1, 1, 1, 1, 1], box = [8]", "[8, 1,",
     "'dims' in tensor map 'x' must hold 1 to 5 formulas, and holds 6"},
    {"grid_of_four", "grid = [\"min(rows, 1024)\"]", "grid = [1, 2, 3, 4]", "[1, 2",
     "'grid' in kernel 'mini_mapped' must hold 1 to 3 formulas, and holds 4"},
    {"grid_missing", "grid = [\"min(rows, 1024)\"]\n", "", "[[implementation.kernel]]\nentry = \"mini_mapped\"",
     "kernel 'mini_mapped' has no 'grid'"},
    {"block_with_a_fact_of_launching", "block = [\"num_warps * 32\"]", "block = [\"max_active_clusters\"]",
     "max_active_clusters",
     "unknown name 'max_active_clusters' in `max_active_clusters`; only a kernel's grid can use it"},
    {"shared_bytes_with_an_unknown_name", "\"num_warps * 4\"", "\"numwarps * 4\"", "numwarps",
     "unknown name 'numwarps' in `numwarps * 4`; did you mean 'num_warps'?"},
    {"when_that_does_not_parse", "when = \"rows > 0\"", "when = \"rows > \"", "\"\nparams",
     "expected a value, found the end in `rows > `"},
    {"attributes_with_an_unknown_key", "{ cluster = [2] }", "{ cluster = [2], pld = true }", "pld",
     "unknown key 'pld' in 'attributes' of kernel 'mini_mapped'; did you mean 'pdl'?"},
    {"pdl_of_another_type", "{ cluster = [2] }", "{ pdl = 1 }", "1 }",
     "'pdl' in 'attributes' of kernel 'mini_mapped' must be true or false, and is an integer"},
    {"unknown_key", "shared_bytes = ", "shared_byte = ", "shared_byte",
     "unknown key 'shared_byte' in kernel 'mini_simple'; did you mean 'shared_bytes'?"},
};

INSTANTIATE_TEST_SUITE_P(Definition, KernelMistake, testing::ValuesIn(kSpoiledKernels), name_of);

TEST(Kernel, may_have_a_map_over_a_workspace_which_needs_no_other_use) {
  const TempFolder folder;
  std::filesystem::copy(data_dir() / "ops/mix", folder.path() / "mix");
  const std::string toml = reading::read_file(data_dir() / "ops/mix/mix.toml");
  for (const bool typed : {false, true}) {
    const std::string changed =
        replaced(toml, "map.b = { arg = \"b\"",
                 std::string("workspace.rows = { bytes = \"n * k * 8\" }\nmap.b = { workspace = \"rows\"") +
                     (typed ? ", type = \"f32\"" : ", type = \"dtype\""));
    const auto file = folder.write("mix/mix.toml", changed);
    EXPECT_THAT(mistakes_of(file), testing::IsEmpty());
    const TensorMapRecipe map = load_definition(file, {kernels_source_dir()}).implementation("tma").recipe.maps.at(1);
    EXPECT_EQ(map.arg, "");
    EXPECT_EQ(map.workspace, "rows");
    EXPECT_EQ(map.type, typed ? std::optional(DType::f32) : std::nullopt);
  }
}

TEST(Kernel, may_define_what_another_defines_only_in_the_same_way) {
  const TempFolder folder;
  std::filesystem::copy(data_dir() / "ops/mix", folder.path() / "mix");
  const auto read = [](const std::filesystem::path& file) { return reading::read_file(file); };
  const std::string toml = read(data_dir() / "ops/mix/mix.toml");
  const std::string last = "workspace.parts = { bytes = \"split_k * m * n * 4\" }\n\n";
  const auto mistakes_with = [&](const std::string& changed) {
    return mistakes_of(folder.write("mix/mix.toml", replaced(toml, last, changed + "\n\n")));
  };
  EXPECT_THAT(mistakes_with("workspace.parts.bytes = 'split_k * m * n * 4'"), testing::IsEmpty());
  EXPECT_THAT(mistakes_with("workspace.parts = { bytes = \"split_k * m * n * 8\" }"),
              testing::ElementsAre("84:11: workspace 'parts' differs from the one of that name in line 73"));
}

}  // namespace
}  // namespace tilewright::test
