// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu/device_fixture.hpp"
#include "tests/unit/verify/twice_op.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using tilewright::testing::TwiceOp;

class GpuVerify : public tilewright::testing::OnGpu {};

TEST_F(GpuVerify, accepts_what_is_right_and_names_what_is_not) {
  TwiceOp op(DType::bf16, 300, 1001, std::move(device_));
  Verifier verifier(*op.device, op.definition, op.problem, op.compiled);
  const auto good = op.load("good");
  EXPECT_EQ(verifier.check(*good).reason, "");
  const struct {
    const char* entry;
    const char* words;
  } wrong[] = {
      {"last_column", "y[0][1000] is 0, expected"},
      {"past_end", "it wrote past the end of y: 2 bytes, the first 4 bytes behind it"},
      {"before_start", "it wrote before the start of x: 2 bytes"},
      {"changes_input", "it changed its input x: x[1][4] was"},
      {"unwritten", "y[0][5] was never written (300 of 300300 elements)"},
      {"off_by_some", "(75075 of 300300 elements are off)"},
      {"slightly", "norm-wise"},
      {"nan_for_one", "y[0][9] is"},
  };
  for (const auto& fault : wrong) {
    EXPECT_THAT(verifier.check(*op.load(fault.entry)).reason, HasSubstr(fault.words)) << fault.entry;
    EXPECT_EQ(verifier.check(*good).reason, "") << "after " << fault.entry;
  }
}

TEST_F(GpuVerify, accepts_what_is_right_in_place_at_odd_addresses_and_large) {
  TwiceOp op(DType::f16, 8192, 4099, std::move(device_));
  for (const int misalign : {0, 3}) {
    for (const bool in_place : {false, true}) {
      const Verdict verdict = op.check("good", {.seed = 4, .misalign_elements = misalign, .in_place = in_place});
      EXPECT_TRUE(verdict.right) << verdict.reason;
    }
  }
}

}  // namespace
}  // namespace tilewright
