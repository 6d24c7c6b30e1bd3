// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/plan/plan.hpp"
#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::plan_args_test {
namespace {

using test::error_of;
using test::formulas;
using test::gemm;
using test::softmax;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<PlannedArg> args_of(const OpInterface& op, const std::string& key) {
  return plan_args(op, parse_problem(key, op));
}

std::string mistake_of(const OpInterface& op) {
  return error_of<DefinitionError>([&] { (void)args_of(op, "softmax[pitch=strided]{rows=3,cols=5}"); });
}

std::vector<std::string> names_of(const std::vector<PlannedArg>& args) {
  std::vector<std::string> names;
  for (const PlannedArg& arg : args) names.push_back(arg.name);
  return names;
}

TEST(PlanArgs, gives_extents_bytes_and_alignment) {
  const std::vector<PlannedArg> args = args_of(gemm(), "gemm[layout=nn,bias=yes]{m=64,n=128,k=4096}");
  ASSERT_THAT(names_of(args), ElementsAre("a", "b", "bias", "alpha", "c"));
  EXPECT_THAT(args[0].shape, ElementsAre(64, 4096));
  EXPECT_EQ(args[0].type, DType::bf16);
  EXPECT_EQ(args[0].bytes, 64U * 4096 * 2);
  EXPECT_EQ(args[0].alignment, 16U);
  EXPECT_THAT(args[1].shape, ElementsAre(4096, 128));
  EXPECT_EQ(args[2].type, DType::f32);
  EXPECT_EQ(args[2].bytes, 128U * 4);
  EXPECT_EQ(args[2].alignment, 4U);
  EXPECT_EQ(args[4].role, ArgRole::out);
  EXPECT_EQ(args[4].alignment, 2U);
  EXPECT_EQ(total_bytes(args), args[0].bytes + args[1].bytes + 128 * 4 + 4 + 64 * 128 * 2);
}

TEST(PlanArgs, a_scalar_has_the_bytes_of_its_value_and_no_alignment) {
  const std::vector<PlannedArg> args = args_of(gemm(), "gemm{m=64,n=128,k=4096}");
  EXPECT_EQ(args[2].name, "alpha");
  EXPECT_EQ(args[2].role, ArgRole::scalar);
  EXPECT_EQ(args[2].bytes, 4U);
  EXPECT_EQ(args[2].alignment, 1U);
  EXPECT_THAT(args[2].shape, IsEmpty());
}

TEST(PlanArgs, an_argument_whose_condition_is_false_is_left_out_even_as_an_alias) {
  const std::vector<PlannedArg> without = args_of(gemm(), "gemm[bias=no]{m=64,n=128,k=4096}");
  EXPECT_THAT(names_of(without), ElementsAre("a", "b", "alpha", "c"));
  EXPECT_THAT(without[3].alias, ElementsAre("a"));
  EXPECT_THAT(args_of(gemm(), "gemm[bias=yes]{m=64,n=128,k=4096}")[4].alias, ElementsAre("a", "bias"));
}

OpInterface pitched_softmax() {
  OpInterface op = softmax();
  op.attributes = {{"pitch", {"dense", "strided"}}};
  Argument pitch;
  pitch.name = "pitch";
  pitch.role = ArgRole::scalar;
  pitch.type = DType::i64;
  pitch.when = test::formula("pitch == 'strided'");
  op.args.insert(op.args.begin() + 1, pitch);
  op.args[2].pitch = "pitch";
  return op;
}

TEST(PlanArgs, a_tensor_has_a_pitch_where_the_scalar_is_present) {
  const std::vector<PlannedArg> strided = args_of(pitched_softmax(), "softmax[pitch=strided]{rows=3,cols=5}");
  EXPECT_TRUE(strided[0].strides.empty());
  EXPECT_THAT(strided[2].strides, ElementsAre(PlannedStride{1, 3}));
  EXPECT_TRUE(strided[2].is_pitched);
  EXPECT_EQ(strided[2].bytes, 3U * 5 * 4) << "gaps are no elements";
  const std::vector<PlannedArg> dense = args_of(pitched_softmax(), "softmax{rows=3,cols=5}");
  EXPECT_THAT(names_of(dense), ElementsAre("x", "y"));
  EXPECT_TRUE(dense[1].strides.empty());
}

TEST(PlanArgs, a_tensor_has_strides_where_the_scalars_are_present) {
  OpInterface op = pitched_softmax();
  op.args[2].pitch = {};
  op.args[2].strides = {"pitch"};
  const std::vector<PlannedArg> strided = args_of(op, "softmax[pitch=strided]{rows=3,cols=5}");
  EXPECT_THAT(strided[2].strides, ElementsAre(PlannedStride{1, 3}));
  EXPECT_FALSE(strided[2].is_pitched);
  EXPECT_TRUE(args_of(op, "softmax{rows=3,cols=5}")[1].strides.empty());

  // Of a tensor with three extents, the first two each have a stride.
  op.args[2].shape.insert(op.args[2].shape.begin(), test::formula("7"));
  EXPECT_EQ(mistake_of(op),
            "interface of softmax: the strides of 'y' are 1; a tensor with 3 extents has one for each but "
            "the last");
  Argument batch = op.args[1];
  batch.name = "batch";
  op.args.push_back(batch);
  op.args[2].strides = {"batch", "pitch"};
  EXPECT_THAT(args_of(op, "softmax[pitch=strided]{rows=3,cols=5}")[2].strides,
              ElementsAre(PlannedStride{3, 7}, PlannedStride{1, 3}));
  op.args.back().when = test::formula("pitch == 'dense'");
  EXPECT_EQ(mistake_of(op),
            "interface of softmax: the strides of 'y' are in part absent; a call has all of them or none");
  op.args.back().type = DType::i32;
  EXPECT_EQ(mistake_of(op), "interface of softmax: a stride of 'y' is 'batch', which is not a scalar of type i64");
}

TEST(PlanArgs, a_pitch_that_is_no_i64_scalar_is_a_mistake_of_the_definition) {
  for (const char* wrong : {"x", "gone"}) {
    OpInterface op = pitched_softmax();
    op.args[2].pitch = wrong;
    EXPECT_EQ(
        error_of<DefinitionError>([&] { (void)args_of(op, "softmax{rows=1,cols=2}"); }),
        std::string("interface of softmax: the pitch of 'y' is '") + wrong + "', which is not a scalar of type i64");
  }
}

TEST(PlanArgs, an_extent_may_be_zero_and_then_nothing_overflows) {
  OpInterface op = softmax();
  op.args[0].shape = formulas({"rows", "cols", "rows - rows"});
  op.args.pop_back();
  const std::vector<PlannedArg> args = args_of(op, "softmax{rows=4611686018427387904,cols=4611686018427387904}");
  EXPECT_THAT(args[0].shape, ElementsAre(4611686018427387904, 4611686018427387904, 0));
  EXPECT_EQ(args[0].bytes, 0U);
}

TEST(PlanArgs, a_negative_extent_is_a_mistake_of_the_definition) {
  OpInterface op = softmax();
  op.args[0].shape[1] = Formula::parse("cols - 5", {"softmax.toml", 7, 20});
  EXPECT_EQ(error_of<DefinitionError>([&] { (void)args_of(op, "softmax{rows=1,cols=2}"); }),
            "softmax.toml:7:20: the extent `cols - 5` of 'x' is -3");
  op.args[0].shape[1] = Formula::parse("cols - 5");
  EXPECT_EQ(error_of<DefinitionError>([&] { (void)args_of(op, "softmax{rows=1,cols=2}"); }),
            "formula: the extent `cols - 5` of 'x' is -3");
}

TEST(PlanArgs, a_formula_that_cannot_be_evaluated_is_a_mistake_of_the_definition) {
  OpInterface op = softmax();
  op.args[0].shape[1] = Formula::parse("cols * vec", {"softmax.toml", 7, 20});
  EXPECT_THAT(error_of<DefinitionError>([&] { (void)args_of(op, "softmax{rows=1,cols=2}"); }),
              HasSubstr("softmax.toml:7:27: unknown name 'vec'"));
}

TEST(PlanArgs, bytes_of_one_argument_that_overflow_are_the_dims_fault) {
  EXPECT_EQ(
      error_of<UsageError>([] { (void)args_of(softmax(), "softmax{rows=4611686018427387904,cols=3}"); }),
      "cannot plan softmax[dtype=f32]{rows=4611686018427387904,cols=3}: 'x' of 4611686018427387904 x 3 elements is "
      "beyond 2^63-1 bytes; choose smaller dims");
  EXPECT_THROW((void)args_of(softmax(), "softmax{rows=2305843009213693952,cols=1}"), UsageError);
}

TEST(PlanArgs, bytes_of_all_arguments_together_are_checked_too) {
  // Each is 2^62 bytes.
  EXPECT_THAT(error_of<UsageError>([] { (void)args_of(softmax(), "softmax{rows=1073741824,cols=1073741824}"); }),
              HasSubstr("its arguments together are beyond 2^63-1 bytes"));
  const std::vector<PlannedArg> args = args_of(softmax(), "softmax{rows=1073741824,cols=1073741823}");
  EXPECT_EQ(total_bytes(args), 2 * args[0].bytes);
}

TEST(PlanArgs, an_alignment_that_is_not_a_power_of_two_is_a_mistake_of_the_definition) {
  for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-4}, std::int64_t{3}, std::int64_t{1} << 62}) {
    OpInterface op = softmax();
    op.args[1].align = wrong;
    EXPECT_EQ(
        error_of<DefinitionError>([&] { (void)args_of(op, "softmax{rows=1,cols=2}"); }),
        "interface of softmax: the alignment of 'y' is " + std::to_string(wrong) + " elements, not a power of two");
  }
}

}  // namespace
}  // namespace tilewright::plan_args_test
