// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/definition/helpers.hpp"
#include "tests/unit/definition/spoiled.hpp"

namespace tilewright::test {
namespace {

class TuningMistake : public testing::TestWithParam<Spoiled> {};

TEST_P(TuningMistake, is_the_one_reported) { expect_mistake(GetParam()); }

const Spoiled kSpoiledTunings[] = {
    {"reference_missing", "reference = { source = \"mini.cu\", entry = \"mini_reference\" }\n", "", "[op]",
     "[op] has no 'reference'"},
    {"reference_source_missing", "source = \"mini.cu\", entry", "source = \"gone.cu\", entry", "\"gone.cu\"",
     "there is no file 'gone.cu' in {folder}"},
    {"reference_entry_unknown", "entry = \"mini_reference\"", "entry = \"mini_refrence\"", "\"mini_refrence\"",
     "there is no kernel 'mini_refrence' in mini.cu; did you mean 'mini_reference'?"},
    {"reference_with_other_parameters", "entry = \"mini_reference\"", "entry = \"mini_mapped\"", "\"mini_mapped\"",
     "kernel 'mini_mapped' takes 2 parameters in mini.cu, and a reference, with every argument and then every dim, "
     "gives it 5: it takes (const __grid_constant__ tilewright::TensorMap x, typename Config::dtype* y) and is given "
     "(pointer x, pointer y, float eps, long long rows, long long cols)"},
    {"reference_grid_with_a_device_fact", "\"mini_reference\" }", "\"mini_reference\", grid = \"sm_count\" }",
     "sm_count", "unknown name 'sm_count' in `sm_count`; only dims, attributes and dtype can be used here"},
    {"tolerance_of_a_dtype_missing", ", bf16 = [1e-4, 1e-2] }", " }", "{ f32", "'tolerance' in [op] has no 'bf16'"},
    {"tolerance_of_another_dtype", "bf16 = [1e-4, 1e-2] }", "bf16 = [1e-4, 1e-2], f16 = [0, 0] }", "f16 = [0",
     "unknown key 'f16' in 'tolerance' in [op]; did you mean 'bf16'?"},
    {"tolerance_with_one_number", "bf16 = [1e-4, 1e-2]", "bf16 = [1e-4]", "[1e-4]",
     "'bf16' in 'tolerance' in [op] must be [absolute, relative] or [absolute, relative, norm]"},
    {"tolerance_negative", "bf16 = [1e-4, 1e-2]", "bf16 = [-1e-4, 1e-2]", "[-1e-4",
     "'bf16' in 'tolerance' in [op] must hold numbers that are 0 or more"},
    {"reference_sampled_with_a_text", "\"mini_reference\" }", "\"mini_reference\", sampled = \"yes\" }", "\"yes\"",
     "'sampled' in 'reference' in [op] must be true or false, and is a text"},
    {"sample_of_a_scalar_missing", ", eps = 0.5 }", " }", "{ name = \"eps\"",
     "scalar 'eps' has no value in [op.sample]: which one shall the tuner pass? Such as: sample = { eps = 0.5 }"},
    {"sample_of_nothing", "eps = 0.5 }", "eps = 0.5, z = 1 }", "z = 1",
     "unknown key 'z' in [op.sample]; known: x, eps"},
    {"sample_of_an_output", "eps = 0.5 }", "eps = 0.5, y = { fill = \"normal\" } }", "y = {",
     "unknown key 'y' in [op.sample]; known: x, eps"},
    {"sample_of_another_type", "eps = 0.5 }", "eps = [0.5] }", "[0.5]",
     "the sample of the scalar 'eps' must be a number or a formula, and is a list"},
    {"sample_with_an_unknown_name", "eps = 0.5 }", "eps = \"colz + 1\" }", "colz",
     "unknown name 'colz' in `colz + 1`; did you mean 'cols'?"},
    {"sample_that_cannot_be_computed", "eps = 0.5 }", "eps = \"8 / (rows - 3)\" }", "/ (rows",
     "division by zero in `8 / (rows - 3)`"},
    {"sample_fill_unknown", "\"uniform\"", "\"unifrom\"", "\"unifrom\"",
     "unknown fill 'unifrom'; did you mean 'uniform'?"},
    {"sample_scale_zero", "scale = 2", "scale = 0", "0 }",
     "'scale' in the sample of 'x' must be more than 0: other data would hide wrong kernels"},
    {"grid_without_a_dim", ", cols = 256 }", " }", "{ rows", "'grid' in [op] has no 'cols'"},
    {"grid_of_no_dim", "cols = 256 }", "cols = 256, colz = 1 }", "colz",
     "unknown key 'colz' in 'grid' in [op]; did you mean 'cols'?"},
    {"grid_range_without_a_step", "\"1..64x2\"", "\"1..64\"", "1..64\"",
     "rows=1..64: a range needs a step, as in 256..4096x2 (doubling) or 256..1024+256 (adding 256)"},
    {"grid_of_zero", "cols = 256 }", "cols = 0 }", "0 }", "dim 'cols' is 0; dims are at least 1"},
    {"emulator_grid_that_is_wrong", "cols = 256 }\n", "cols = 256 }\nemulator_grid = { rows = \"x\", cols = 1 }\n",
     "x\",", "dim 'rows' is 'x', which is not a whole number"},
};

INSTANTIATE_TEST_SUITE_P(Definition, TuningMistake, testing::ValuesIn(kSpoiledTunings), name_of);

TEST(Tuning, has_a_reference_grid_that_covers_the_first_output_unless_the_definition_says_more) {
  const TempFolder folder;
  const auto load = [&](std::string_view toml) {
    return load_definition(folder.write_mini(toml, kMiniSource), {kernels_source_dir()}).reference.grid.text();
  };
  EXPECT_EQ(load(kMiniToml), "min(ceil_div(1 * (rows) * (cols), 256), 4096)");
  EXPECT_EQ(load(replaced(kMiniToml, "\"mini_reference\" }", "\"mini_reference\", grid = \"rows\" }")), "rows");
}

TEST(Tuning, sweeps_the_same_grid_on_the_emulator_unless_the_definition_has_one) {
  const TempFolder folder;
  const OpDefinition definition = load_definition(folder.write_mini(kMiniToml, kMiniSource), {kernels_source_dir()});
  EXPECT_EQ(definition.emulator_grid, definition.grid);
}

}  // namespace
}  // namespace tilewright::test
