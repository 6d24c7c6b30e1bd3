// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/implementation.hpp"

#include "tests/unit/definition/spoiled.hpp"

namespace tilewright::test {
namespace {

class ImplementationMistake : public testing::TestWithParam<Spoiled> {};

TEST_P(ImplementationMistake, is_the_one_reported) { expect_mistake(GetParam()); }

const Spoiled kSpoiledImplementations[] = {
    {"name_twice", "name = \"mapped\"", "name = \"simple\"", "\"simple\"", "implementation 'simple' appears twice"},
    {"name_no_identifier", "name = \"mapped\"", "name = \"map ped\"", "\"map ped\"",
     "implementation 'map ped' is not an identifier: letters, digits and _, no digit first"},
    {"requires_no_architecture", "requires = \"sm_90\"", "requires = \"hopper\"", "\"hopper\"",
     "'requires' in implementation 'mapped' is 'hopper'; write an architecture such as \"sm_80\" or \"sm_90a\""},
    {"requires_an_old_architecture", "requires = \"sm_80\"", "requires = \"sm_75\"", "\"sm_75\"",
     "'requires' in implementation 'simple' is 'sm_75'; the oldest architecture supported is sm_80"},
    {"parameter_called_as_an_attribute", "block = [32, 64]", "block = [32, 64], act = [1]", "act",
     "parameter 'act' clashes: there is an attribute of that name"},
    {"parameter_without_values", "block = [32, 64]", "block = [32, 64], stages = []", "[] }",
     "parameter 'stages' has no values"},
    {"parameter_value_twice", "block = [32, 64]", "block = [32, 64, 32]", "32]", "parameter 'block': 32 appears twice"},
    {"parameter_value_of_another_type", "block = [32, 64]", "block = [32, 64.5]", "64.5",
     "each value of parameter 'block' must be an integer, and is a number with a fraction"},
    {"parameter_value_beyond_int", "block = [32, 64]", "block = [32, 64, 2147483648]", "2147483648",
     "parameter 'block': 2147483648 does not fit an int"},
    {"space_beyond_the_limit", "block = [32, 64]",
     "a = [0,1,2,3,4,5,6,7,8,9], b = [0,1,2,3,4,5,6,7,8,9], c = [0,1,2,3,4,5,6,7,8,9], d = [0,1,2,3,4,5,6,7,8,9], "
     "e = [0,1,2,3,4,5,6,7,8,9], f = [0,1,2,3,4,5,6,7,8,9], block = [32, 64]",
     "{ a =", "the space of 'mapped' has more than 1000000 configs: split it into implementations, or drop values"},
    {"parameter_that_is_no_list", "block = [32, 64]", "block = [32, 64], stages = 2", "2 }",
     "parameter 'stages' must be a list, and is an integer"},
    {"static_dims_of_two", "static_dims = [0, 1]", "static_dims = [0, 1, 2]", "2]",
     "parameter 'static_dims': its values are 0 (dims are run-time values) and 1 (the dims of 'specialize' are "
     "constants), not 2"},
    {"specialize_without_static_dims", "block = [32, 64] }\n", "block = [32, 64] }\nspecialize = [\"rows\"]\n",
     "[\"rows\"]", "'specialize' in implementation 'mapped' needs the parameter static_dims: static_dims = [0, 1]"},
    {"static_dims_without_specialize", "block = [32, 64]", "block = [32, 64], static_dims = [0]", "static_dims",
     "parameter 'static_dims' needs the dims that it makes constant: specialize = [\"…\"]"},
    {"specialize_an_unknown_dim", "specialize = [\"cols\"]", "specialize = [\"cols\", \"row\"]", "\"row\"",
     "'specialize' in implementation 'simple': the op has no dim 'row'; did you mean 'rows'?"},
    {"specialize_a_dim_twice", "specialize = [\"cols\"]", "specialize = [\"cols\", \"cols\"]", "\"cols\"]",
     "dim 'cols' appears twice"},
    {"constraint_with_an_unknown_name", "num_warps * 32 <= max", "num_wraps * 32 <= max", "num_wraps",
     "unknown name 'num_wraps' in `num_wraps * 32 <= max_threads_per_block`; did you mean 'num_warps'?"},
    {"constraint_with_a_fact_of_launching", "num_warps * 32 <= max_threads_per_block", "resident_blocks > 0",
     "resident_blocks", "unknown name 'resident_blocks' in `resident_blocks > 0`; only a kernel's grid can use it"},
    {"constraint_that_compares_text_with_a_number", "num_warps * 32 <= max_threads_per_block", "act == 1", "== 1",
     "'==' compares text with a number in `act == 1`"},
    {"align_of_nothing", "align = { x =", "align = { z = 4, x =", "z = 4",
     "unknown key 'z' in 'align' in implementation 'simple'; known: *, x, y"},
    {"align_of_a_scalar", "align = { x =", "align = { eps = 4, x =", "eps",
     "unknown key 'eps' in 'align' in implementation 'simple'; known: *, x, y"},
    {"covers_no_dim", "align = { x =", "covers = { row = 4 }\nalign = { x =", "row = 4",
     "unknown key 'row' in 'covers' in implementation 'simple'; did you mean 'rows'?"},
    {"covers_by_what_is_not_known", "align = { x =", "covers = { rows = \"num_wraps\" }\nalign = { x =", "num_wraps\"",
     "unknown name 'num_wraps' in `num_wraps`; did you mean 'num_warps'?"},
    {"covers_nothing", "align = { x =", "covers = { rows = \"num_warps - 1\" }\nalign = { x =", "num_warps - 1",
     "a block of simple{num_warps=1,static_dims=0} covers 0 of rows in mini[dtype=f32,act=none]{rows=1,cols=1}, and "
     "must "
     "cover 1 at least"},
    {"source_missing", "name = \"mapped\"\nsource = \"mini.cu\"\n", "name = \"mapped\"\n", "[[implementation]]",
     "implementation 'mapped' has no 'source'"},
    {"kernel_missing", "requires = \"sm_90\"\n", "requires = \"sm_90\"\nkernels = 1\n", "kernels",
     "unknown key 'kernels' in implementation 'mapped'; did you mean 'kernel'?"},
    {"tensor_maps_before_hopper", "requires = \"sm_90\"\n", "requires = \"sm_86\"\n", "[[implementation]]",
     "implementation 'mapped' uses tensor maps: it needs requires = \"sm_90\" or later"},
    {"output_that_no_kernel_takes", "\"map:x\", \"ptr:y\"", "\"map:x\", \"ptr:x\"", "[[implementation]]",
     "implementation 'mapped': no kernel takes the output 'y'"},
};

INSTANTIATE_TEST_SUITE_P(Definition, ImplementationMistake, testing::ValuesIn(kSpoiledImplementations), name_of);

}  // namespace
}  // namespace tilewright::test
