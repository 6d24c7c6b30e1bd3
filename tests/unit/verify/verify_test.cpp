// SPDX-License-Identifier: Apache-2.0
#include "tuner/verify/verify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/verify/twice_op.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using tilewright::testing::TwiceOp;

TEST(Verify, accepts_a_right_kernel_and_tells_how_right) {
  TwiceOp op;
  const Verdict verdict = op.check("good");
  EXPECT_TRUE(verdict.right) << verdict.reason;
  EXPECT_EQ(verdict.reason, "");
  // 2·x is exact.
  EXPECT_EQ(verdict.accuracy.max_absolute, 0);
  EXPECT_EQ(verdict.accuracy.norm_relative, 0);
}

TEST(Verify, accepts_a_right_kernel_in_place_and_at_odd_addresses) {
  TwiceOp op(DType::bf16);
  for (const int misalign : {0, 1, 3}) {
    for (const bool in_place : {false, true}) {
      const Verdict verdict = op.check("good", {.seed = 9, .misalign_elements = misalign, .in_place = in_place});
      EXPECT_TRUE(verdict.right) << verdict.reason << " misaligned by " << misalign << ", in place " << in_place;
    }
  }
}

TEST(Verify, finds_a_last_column_of_zeros_and_names_the_first_element) {
  TwiceOp op;
  const Verdict verdict = op.check("last_column");
  EXPECT_FALSE(verdict.right);
  EXPECT_THAT(verdict.reason,
              MatchesRegex(R"(y\[0\]\[32\] is 0, expected -?[0-9.e-]+ ± [0-9.e-]+ \(7 of 231 elements are off\))"));
  EXPECT_GT(verdict.accuracy.norm_relative, 0.01);
}

TEST(Verify, tells_the_errors_of_each_output_beside_their_limits) {
  TwiceOp op;
  const Verdict verdict = op.check("last_column");
  ASSERT_EQ(verdict.outputs.size(), 1U);
  const OutputErrors& errors = verdict.outputs[0];
  EXPECT_EQ(errors.output, "y");
  EXPECT_EQ(errors.elements, 231);
  EXPECT_EQ(errors.wrong, 7);
  EXPECT_EQ(errors.accuracy.max_absolute, verdict.accuracy.max_absolute);
  EXPECT_EQ(errors.norm_limit, norm_limit(errors.type, errors.tolerance));
  EXPECT_GT(errors.accuracy.norm_relative, errors.norm_limit);
  EXPECT_EQ(op.check("good").outputs.at(0).wrong, 0);
}

TEST(Verify, finds_a_write_past_the_end_of_the_output) {
  TwiceOp op;
  EXPECT_EQ(op.check("past_end").reason, "it wrote past the end of y: 4 bytes, the first 8 bytes behind it");
}

TEST(Verify, finds_a_write_before_the_start_of_an_input) {
  TwiceOp op;
  EXPECT_EQ(op.check("before_start").reason, "it wrote before the start of x: 4 bytes, the last 9 bytes before it");
}

TEST(Verify, finds_a_changed_input_and_names_the_element) {
  TwiceOp op;
  EXPECT_THAT(op.check("changes_input").reason,
              MatchesRegex(R"(it changed its input x: x\[1\]\[4\] was -?[0-9.e-]+ and is 7)"));
}

TEST(Verify, finds_elements_that_were_never_written) {
  TwiceOp op;
  EXPECT_EQ(op.check("unwritten").reason, "y[0][5] was never written (7 of 231 elements)");
}

TEST(Verify, finds_wrong_elements_and_counts_them) {
  TwiceOp op;
  EXPECT_THAT(op.check("off_by_some").reason, HasSubstr("(58 of 231 elements are off)"));
  EXPECT_THAT(op.check("off_by_some").reason, HasSubstr("y[0][1] is "));
}

TEST(Verify, finds_nan_where_a_number_should_be) {
  TwiceOp op;
  EXPECT_THAT(op.check("nan_for_one").reason,
              MatchesRegex(R"(y\[0\]\[9\] is -?nan, expected .* \(1 of 231 elements are off\))"));
}

TEST(Verify, finds_a_result_whose_every_element_is_tolerable_but_not_all_of_them_together) {
  TwiceOp op(DType::bf16);
  const Verdict verdict = op.check("slightly");
  EXPECT_FALSE(verdict.right);
  EXPECT_THAT(verdict.reason, HasSubstr("norm-wise, where 0.00781 is allowed"));
  EXPECT_NEAR(verdict.accuracy.norm_relative, 0.03, 0.002);
}

TEST(Verify, what_one_config_destroys_is_whole_again_for_the_next) {
  TwiceOp op;
  Verifier verifier(*op.device, op.definition, op.problem, op.compiled);
  const auto good = op.load("good");
  for (const char* wrong : {"past_end", "before_start", "changes_input", "unwritten", "last_column"}) {
    const auto executable = op.load(wrong);
    EXPECT_FALSE(verifier.check(*executable).right) << wrong;
    const Verdict verdict = verifier.check(*good);
    EXPECT_TRUE(verdict.right) << "after " << wrong << ": " << verdict.reason;
  }
}

TEST(Verify, a_run_that_fails_is_an_error_and_does_not_spoil_the_next) {
  TwiceOp op;
  Verifier verifier(*op.device, op.definition, op.problem, op.compiled);
  const auto deadlock = op.load("deadlock");
  EXPECT_THROW((void)verifier.check(*deadlock), DeviceError);
  EXPECT_TRUE(verifier.check(*op.load("good")).right);
}

TEST(Verify, each_run_of_a_reference_is_told) {
  TwiceOp op;
  op.definition.more_samples = {{"more", op.definition.samples}};
  int told = 0;
  Verifier verifier(*op.device, op.definition, op.problem, op.compiled, {}, [&told] { ++told; });
  EXPECT_EQ(told, 2);
  EXPECT_TRUE(verifier.check(*op.load("good")).right);
  EXPECT_EQ(told, 2) << "strides as before need no other references";
}

TEST(Verify, another_seed_is_other_data) {
  TwiceOp op;
  const ArgumentSet one(*op.device, op.definition, op.problem, {.seed = 1});
  const ArgumentSet two(*op.device, op.definition, op.problem, {.seed = 2});
  EXPECT_NE(one.read(0), two.read(0));
}

TEST(Verify, a_reference_that_leaves_elements_out_is_refused) {
  TwiceOp op;
  op.definition.reference.entry = "no_reference";
  try {
    Verifier verifier(*op.device, op.definition, op.problem, op.compiled);
    FAIL() << "a reference that leaves elements unwritten was believed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("left 3 of 231 elements of y unwritten"));
    EXPECT_THAT(error.what(), HasSubstr("twice.cu"));
  }
}

TwiceOp sampled_op(DType dtype = DType::f32) {
  TwiceOp op(dtype);
  op.definition.reference.entry = "samples";
  op.definition.reference.sampled = true;
  return op;
}

TEST(Verify, a_sampled_reference_compares_the_elements_that_it_has) {
  TwiceOp op = sampled_op();
  EXPECT_EQ(op.check("good").reason, "");
  EXPECT_EQ(op.check("good", {.in_place = true}).reason, "");
  // The sample of 231 elements has those at 1, 9, 17, …; wrong ones are at 1, 5, 9, 13, ….
  EXPECT_THAT(op.check("off_by_some").reason,
              MatchesRegex(R"(y\[0\]\[1\] is .*, expected .* \(29 of 29 sampled elements are off\))"));
  TwiceOp half = sampled_op(DType::bf16);
  EXPECT_THAT(half.check("slightly").reason, HasSubstr("norm-wise"));
}

TEST(Verify, an_element_that_the_reference_leaves_out_must_be_written_all_the_same_and_be_no_nan) {
  TwiceOp op = sampled_op();
  EXPECT_EQ(op.check("unwritten").reason, "y[0][5] was never written (7 of 231 elements)");
  EXPECT_THAT(op.check("nan_left_out").reason,
              MatchesRegex(R"(y\[0\]\[10\] is nan \(1 of the elements that the reference leaves out are\))"));
  EXPECT_THAT(op.check("past_end").reason, HasSubstr("it wrote past the end of y"));
}

TEST(Verify, a_sampled_reference_that_has_no_element_is_refused) {
  TwiceOp op = sampled_op();
  op.definition.reference.entry = "empty_reference";
  try {
    Verifier verifier(*op.device, op.definition, op.problem, op.compiled);
    FAIL() << "a reference that says nothing was believed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("left 231 of 231 elements of y unwritten"));
  }
}

TEST(Verify, a_sampled_reference_that_has_every_element_is_like_any_other) {
  TwiceOp op;
  op.definition.reference.sampled = true;
  EXPECT_EQ(op.check("good").reason, "");
  EXPECT_THAT(op.check("off_by_some").reason, HasSubstr("(58 of 231 elements are off)"));
  EXPECT_EQ(op.check("unwritten").reason, "y[0][5] was never written (7 of 231 elements)");
}

TEST(Verify, counters_must_be_zero_again) {
  TwiceOp op;
  EXPECT_EQ(op.check("counts").reason, "");
  EXPECT_EQ(op.check("counts_on").reason,
            "it left its workspace counter other than zero, which the next launch counts on: 1 of 8 bytes, the first "
            "at 5");
}

TEST(Verify, says_that_a_config_was_wrong_in_place) {
  TwiceOp op;
  EXPECT_THAT(op.check("past_end", {.in_place = true}).reason,
              ::testing::StartsWith("in place (y = x): it wrote past the end of x"));
}

TEST(Verify, checks_an_output_in_place_of_each_input_that_it_may_alias) {
  TwiceOp op;
  op.add_input();
  for (const char* entry : {"adds", "adds_late", "adds_early"}) EXPECT_EQ(op.check(entry).reason, "") << entry;
  EXPECT_EQ(op.check("adds", {.in_place = true}).reason, "");
  EXPECT_THAT(op.check("adds_early", {.in_place = true}).reason,
              ::testing::StartsWith("in place (y = x): y[0][0] is "));
  EXPECT_THAT(op.check("adds_late", {.in_place = true}).reason,
              ::testing::StartsWith("in place (y = addend): y[0][0] is "));
}

TEST(Verify, checks_each_sample_in_place_of_each_input) {
  TwiceOp op;
  op.add_input();
  op.definition.more_samples = {{"more", op.definition.samples}};
  op.definition.samples["x"] = op.definition.samples["addend"] = {"normal", 0.0};
  EXPECT_EQ(op.check("adds", {.in_place = true}).reason, "");
  EXPECT_THAT(op.check("adds_late", {.in_place = true}).reason,
              ::testing::StartsWith("on the sample 'more': in place (y = addend): "));
}

TEST(Verify, a_reference_that_changes_its_inputs_is_refused) {
  TwiceOp op;
  op.definition.reference.entry = "bad_reference";
  EXPECT_THROW(Verifier(*op.device, op.definition, op.problem, op.compiled), Error);
}

TEST(Verify, a_config_that_needs_more_alignment_than_there_is_cannot_be_checked) {
  TwiceOp op;
  Verifier verifier(*op.device, op.definition, op.problem, op.compiled, {.misalign_elements = 1});
  op.definition.interface.args[0].align = 4;
  EXPECT_THROW((void)verifier.check(*op.load("good")), UsageError);
}

TEST(Verify, finds_a_config_that_needs_more_alignment_than_it_claims) {
  TwiceOp op;
  EXPECT_EQ(op.check("aligned").reason, "y[0][0] was never written (231 of 231 elements)");
  op.definition.interface.args[2].align = 4;
  for (const bool in_place : {false, true}) {
    const Verdict verdict = op.check("aligned", {.in_place = in_place});
    EXPECT_TRUE(verdict.right) << verdict.reason;
  }
}

TEST(Verify, finds_a_config_that_needs_more_of_a_pitch_than_it_claims) {
  TwiceOp op;
  op.pitch_y("round_up(cols, 64)");
  EXPECT_EQ(op.check("pitched").reason, "y[0][0] was never written (231 of 231 elements)");
  op.definition.interface.args[2].align = 4;
  EXPECT_FALSE(op.check("pitched").right) << "16 bytes";
  op.definition.interface.args[2].align = 8;
  EXPECT_TRUE(op.check("pitched").right);
}

TEST(NormLimit, is_twice_the_rounding_of_narrow_types_and_the_tolerance_of_accumulators) {
  EXPECT_EQ(norm_limit(DType::bf16, {1e-4, 0.5}), 1.0 / 128);
  EXPECT_EQ(norm_limit(DType::f16, {1e-4, 0.5}), 1.0 / 1024);
  EXPECT_EQ(norm_limit(DType::f32, {1e-4, 1e-5}), 1e-5);
  EXPECT_EQ(norm_limit(DType::f32, {1e-4, 0}), 1.0 / (1 << 23));
  EXPECT_GT(norm_limit(DType::i32, {0, 0}), 1e300);
  EXPECT_EQ(norm_limit(DType::bf16, {1e-4, 0.5, 0.25}), 0.25) << "but for one that says its own";
}

}  // namespace
}  // namespace tilewright
