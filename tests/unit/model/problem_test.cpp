// SPDX-License-Identifier: Apache-2.0
#include "cache/model/problem.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/model/bucket.hpp"
#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::problem_test {
namespace {

using test::error_of;
using test::gemm;
using test::softmax;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string spec_mistake(std::string_view text) {
  return error_of<UsageError>([&] { (void)parse_spec(text, gemm()); });
}

std::string key_mistake(std::string_view text) {
  return error_of<UsageError>([&] { (void)parse_problem(text, softmax()); });
}

std::string dim_mistake(std::string_view text) {
  return error_of<UsageError>([&] { (void)parse_dim("rows", text); });
}

TEST(Problem, the_shape_key_spells_everything_in_the_definitions_order) {
  const Problem problem = parse_problem("gemm[act=gelu]{k=4096,m=64,n=128}", gemm());
  EXPECT_EQ(problem.key(), "gemm[dtype=bf16,layout=nt,bias=no,act=gelu]{m=64,n=128,k=4096}");
  EXPECT_EQ(problem.spec.text(), "gemm[dtype=bf16,layout=nt,bias=no,act=gelu]");
  EXPECT_EQ(parse_problem(problem.key(), gemm()), problem);
}

TEST(Problem, what_is_omitted_takes_the_first_value) {
  const OpSpec spec = parse_spec("gemm", gemm());
  EXPECT_EQ(spec.text(), "gemm[dtype=bf16,layout=nt,bias=no,act=none]");
  EXPECT_EQ(parse_spec("gemm[]", gemm()), spec);
  EXPECT_EQ(parse_spec(" gemm [ act = none , dtype = bf16 ] ", gemm()), spec);
  EXPECT_EQ(parse_spec("softmax", softmax()).dtype, DType::f32);
}

TEST(Problem, attributes_are_found_by_name) {
  const OpSpec spec = parse_spec("gemm[act=relu]", gemm());
  ASSERT_NE(spec.attribute("act"), nullptr);
  EXPECT_EQ(*spec.attribute("act"), "relu");
  EXPECT_EQ(spec.attribute("dtype"), nullptr);
  EXPECT_EQ(spec.attribute("nothing"), nullptr);
}

TEST(Problem, dims_are_found_by_name) {
  const Problem problem = parse_problem("softmax{rows=8,cols=100}", softmax());
  EXPECT_EQ(problem.dim("rows"), 8);
  EXPECT_EQ(problem.dim("cols"), 100);
  EXPECT_EQ(error_of<UsageError>([&] { (void)problem.dim("colz"); }),
            "softmax has no dim 'colz'; did you mean 'cols'?");
}

TEST(Problem, the_name_of_the_op_is_read_before_anything_is_known) {
  EXPECT_EQ(op_name_of("softmax[dtype=what]{is this"), "softmax");
  EXPECT_EQ(op_name_of("softmax"), "softmax");
  EXPECT_EQ(error_of<UsageError>([] { (void)op_name_of("[dtype=f32]"); }),
            "op '[dtype=f32]', column 1: expected the name of an op");
}

TEST(Problem, a_spec_names_its_mistake_and_what_would_be_right) {
  EXPECT_EQ(spec_mistake("gemm[dtype=bf17]"),
            "op 'gemm[dtype=bf17]', column 12: unknown dtype 'bf17'; did you mean "
            "'bf16'?");
  EXPECT_EQ(spec_mistake("gemm[dtype=f32]"),
            "op 'gemm[dtype=f32]', column 12: gemm does not take dtype 'f32'; it takes "
            "bf16, f16");
  EXPECT_EQ(spec_mistake("gemm[akt=gelu]"),
            "op 'gemm[akt=gelu]', column 6: gemm has no attribute 'akt'; did you mean "
            "'act'?");
  EXPECT_EQ(spec_mistake("gemm[act=glu]"),
            "op 'gemm[act=glu]', column 10: unknown value 'glu' of attribute 'act'; did "
            "you mean 'gelu'?");
  EXPECT_THAT(spec_mistake("gemm[act=gelu,act=relu]"), HasSubstr("column 15: 'act' is given twice"));
  EXPECT_THAT(spec_mistake("gemm[dtype=f16,dtype=f16]"), HasSubstr("column 16: 'dtype' is given twice"));
  EXPECT_THAT(spec_mistake("gemm[bf16]"), HasSubstr("column 10: expected '='; write bf16=VALUE"));
  EXPECT_THAT(spec_mistake("gemm[dtype=bf16"), HasSubstr("column 16: expected ','"));
  EXPECT_THAT(spec_mistake("gemm[m=64]"), HasSubstr("gemm has no attribute 'm'"));
  EXPECT_THAT(spec_mistake("softmax[dtype=f32]"), HasSubstr("column 1: this is not the op 'gemm'"));
  EXPECT_THAT(spec_mistake("gemm[act=gelu]{m=1}"), HasSubstr("column 15: an op is written without dims"));
  EXPECT_THAT(spec_mistake("gemm[act=gelu] x"), HasSubstr("column 16: unexpected 'x'"));
  EXPECT_THAT(spec_mistake(""), HasSubstr("column 1: expected the name of an op"));
}

TEST(Problem, an_op_without_dtypes_or_values_is_refused) {
  OpInterface op = gemm();
  op.attributes[0].values.clear();
  EXPECT_THAT(error_of<UsageError>([&] { (void)parse_spec("gemm", op); }), HasSubstr("'layout' has no values"));
  op.dtypes.clear();
  EXPECT_THAT(error_of<UsageError>([&] { (void)parse_spec("gemm", op); }), HasSubstr("'gemm' has no dtypes"));
}

TEST(Problem, a_shape_key_names_the_dim_that_is_wrong) {
  EXPECT_THAT(key_mistake("softmax{rows=8}"), HasSubstr("column 15: dim 'cols' is missing; softmax takes rows, cols"));
  EXPECT_THAT(key_mistake("softmax{}"), HasSubstr("column 9: dim 'rows' is missing"));
  EXPECT_THAT(key_mistake("softmax{rows=8,colz=1}"), HasSubstr("column 16: softmax has no dim 'colz'; did you mean "
                                                               "'cols'?"));
  EXPECT_THAT(key_mistake("softmax{rows=8,rows=8}"), HasSubstr("column 16: 'rows' is given twice"));
  EXPECT_THAT(key_mistake("softmax{rows=0,cols=1}"), HasSubstr("column 14: dim 'rows' is 0; dims are at least 1"));
  EXPECT_THAT(key_mistake("softmax{rows=-4,cols=1}"), HasSubstr("column 14: dim 'rows' is -4; dims are at least 1"));
  EXPECT_THAT(key_mistake("softmax{rows=many,cols=1}"), HasSubstr("dim 'rows' is 'many', which is not a whole number"));
  EXPECT_THAT(key_mistake("softmax{rows=9223372036854775808,cols=1}"), HasSubstr("column 14: dim 'rows' is"));
  EXPECT_THAT(key_mistake("softmax{rows=,cols=1}"), HasSubstr("'rows' has no value"));
  EXPECT_EQ(key_mistake("softmax[dtype=f32]"),
            "shape key 'softmax[dtype=f32]', column 19: expected the dims; write {rows=1024,cols=1024}");
  EXPECT_THAT(key_mistake("softmax{rows=1,cols=1}}"), HasSubstr("column 23: unexpected '}'"));
  EXPECT_THAT(key_mistake("softmax[dtype=f33]{rows=1,cols=1}"), HasSubstr("did you mean 'f32'?"));
}

TEST(Problem, a_dim_is_a_whole_number_from_1_to_2_to_the_63_less_1) {
  EXPECT_EQ(parse_dim("rows", "1"), 1);
  EXPECT_EQ(parse_dim("rows", "0128"), 128);
  EXPECT_EQ(parse_dim("rows", "9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(dim_mistake("0"), "dim 'rows' is 0; dims are at least 1");
  EXPECT_EQ(dim_mistake("-1"), "dim 'rows' is -1; dims are at least 1");
  EXPECT_EQ(dim_mistake("-99999999999999999999"), "dim 'rows' is -99999999999999999999; dims are at least 1");
  EXPECT_EQ(dim_mistake(""), "dim 'rows' has no value; write rows=1024");
  EXPECT_EQ(dim_mistake("9223372036854775808"),
            "dim 'rows' is 9223372036854775808, beyond the largest dim, 9223372036854775807");
  EXPECT_THAT(dim_mistake("99999999999999999999999"), HasSubstr("beyond the largest dim"));
  for (const char* text : {"abc", "1e3", "4.5", "12 ", " 12", "+5", "-", "0x10", "1,024", "1_024", "\u0661"}) {
    EXPECT_THAT(dim_mistake(text), HasSubstr("which is not a whole number")) << text;
  }
}

TEST(Problem, is_made_from_values_in_the_ops_order) {
  const OpSpec spec = parse_spec("softmax[dtype=bf16]", softmax());
  const std::vector<std::int64_t> dims{8, 100};
  EXPECT_EQ(make_problem(spec, softmax(), dims).key(), "softmax[dtype=bf16]{rows=8,cols=100}");
  const std::vector<std::int64_t> short_by_one{8};
  EXPECT_EQ(error_of<UsageError>([&] { (void)make_problem(spec, softmax(), short_by_one); }),
            "softmax takes 2 dims (rows, cols), not 1");
  for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-7}}) {
    const std::vector<std::int64_t> dims_with{8, wrong};
    EXPECT_THAT(error_of<UsageError>([&] { (void)make_problem(spec, softmax(), dims_with); }),
                HasSubstr("dim 'cols' is " + std::to_string(wrong) + "; dims are at least 1"));
  }
}

TEST(Problem, has_the_bucket_of_a_bucketed_dim) {
  OpInterface op = gemm();
  op.bucketed = {"m"};
  const std::int64_t dims[] = {100, 100, 100};
  EXPECT_EQ(shape_of(make_problem(parse_spec("gemm", op), op, dims)), (ShapeDims{128, 100, 100}));
  EXPECT_EQ(shape_of(parse_problem("gemm{m=65,n=65,k=1}", op)), (ShapeDims{96, 65, 1}));
}

TEST(Bucket, is_the_power_of_two_or_the_half_between_that_is_not_less) {
  std::vector<std::int64_t> buckets;
  for (std::int64_t extent = 1; extent <= 64; ++extent) {
    const std::int64_t bucket = bucket_of(extent);
    EXPECT_GE(bucket, extent);
    EXPECT_EQ(bucket_of(bucket), bucket);
    if (buckets.empty() || buckets.back() != bucket) buckets.push_back(bucket);
  }
  EXPECT_EQ(buckets, (std::vector<std::int64_t>{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kPower = std::int64_t{1} << 62;
  EXPECT_EQ(bucket_of(kPower - 1), kPower);
  EXPECT_EQ(bucket_of(kPower + 1), kPower / 2 * 3);
  EXPECT_EQ(bucket_of(kPower / 2 * 3 + 1), kMost);
  EXPECT_EQ(bucket_of(kMost), kMost);
  for (const std::int64_t none : {std::int64_t{0}, std::int64_t{-1}, -kMost}) EXPECT_EQ(bucket_of(none), none);
}

TEST(Problem, its_scope_knows_dims_dtype_and_attributes) {
  const Problem problem = parse_problem("gemm[act=gelu]{m=64,n=128,k=4096}", gemm());
  const ProblemScope scope(problem);
  EXPECT_EQ(scope.find("m"), Value(64));
  EXPECT_EQ(scope.find("dtype"), Value("bf16"));
  EXPECT_EQ(scope.find("act"), Value("gelu"));
  EXPECT_EQ(scope.find("block_m"), std::nullopt);
  EXPECT_THAT(scope.names(), ElementsAre("m", "n", "k", "dtype", "layout", "bias", "act"));
  EXPECT_EQ(Formula::parse("m * n * sizeof(dtype) + (act == 'gelu')").integer(scope), 64 * 128 * 2 + 1);
}

}  // namespace
}  // namespace tilewright::problem_test
