// SPDX-License-Identifier: Apache-2.0
// The op `activation_bwd`, and the slopes of kernels/device/activation_backward.cuh.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tests/unit/emulator/emulated.hpp"
#include "tests/unit/kernels/elementwise.hpp"

namespace tilewright::test::activation_bwd_test {
namespace {

BuiltInOp& activation_bwd() {
  static BuiltInOp op("activation_bwd");
  return op;
}

TEST(ActivationBwd, is_right_for_every_activation_and_dtype) {
  for (const char* act : kActs) {
    if (act == std::string("none")) continue;
    for (const char* dtype : kDtypes) {
      expect_right_base(activation_bwd(), fmt::format("activation_bwd[dtype={},act={}]{{n=4111}}", dtype, act));
    }
  }
}

TEST(ActivationBwd, is_right_for_any_length_and_address) {
  for (const char* dtype : kDtypes) {
    for (const int n : {1, 8, 1023, 6151}) {
      const std::string key = fmt::format("activation_bwd[dtype={},act=silu]{{n={}}}", dtype, n);
      expect_right(activation_bwd(), key, "flat", 2);
      expect_right_base(activation_bwd(), key, {.seed = 7, .misalign_elements = 3});
    }
  }
}

TEST(ActivationBwd, may_write_over_the_gradient_that_it_reads) {
  const std::string key = "activation_bwd[dtype=bf16,act=gelu]{n=6151}";
  expect_right(activation_bwd(), key, "flat", 4, {.seed = 3, .in_place = true});
  expect_right_base(activation_bwd(), key, {.seed = 3, .in_place = true});
}

/// The slopes at x: as computed for an output type, in double by activation_slope.cuh, and the expected ones by the
/// formula and by differences of the activation.
struct Slopes {
  std::vector<float> ours, twice;
  std::vector<double> exact, differences;
};

Slopes slopes(const std::string& act, const std::string& output, const std::vector<float>& x) {
  const EmulatedKernel kernel(fmt::format(R"cu(
#include "device/activation_slope.cuh"
struct Act {{ static constexpr tilewright::Name act{{"{0}"}}; }};
template <class Config> __global__ void kernel(const float* x, float* ours, float* twice, double* exact, double* differences, int n) {{
  using namespace tilewright;
  for (int i = threadIdx.x; i < n; i += 32) {{
    ours[i] = activation_slope<Act, {1}>(x[i]);
    twice[i] = activation_slope_times<Act, {1}>(x[i], 2.0f);
    exact[i] = exact_activation_slope<Act>(x[i]);
    const double at = x[i], step = 1e-5;
    differences[i] = (exact_activation<Act>(at + step) - exact_activation<Act>(at - step)) / (2 * step);
  }}
}})cu",
                                          act, output));
  Slopes slopes{std::vector<float>(x.size()), std::vector<float>(x.size()), std::vector<double>(x.size()),
                std::vector<double>(x.size())};
  EXPECT_EQ(kernel
                .run(extents(1, 32), x.data(), slopes.ours.data(), slopes.twice.data(), slopes.exact.data(),
                     slopes.differences.data(), static_cast<int>(x.size()))
                .text,
            "");
  return slopes;
}

TEST(ActivationSlope, is_what_differences_of_the_activation_tend_to) {
  std::vector<float> x;
  for (int i = -800; i <= 800; ++i) x.push_back(static_cast<float>(i) / 80 + 0.003f);
  for (const char* act : kActs) {
    const Slopes all = slopes(act, "float", x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(all.exact[i], all.differences[i], 1e-8) << act << " at " << x[i];
      ASSERT_NEAR(all.ours[i], all.exact[i], 1e-6) << act << " at " << x[i];
    }
  }
}

TEST(ActivationSlope, of_16_bit_outputs_is_within_a_fraction_of_their_rounding) {
  std::vector<float> x;
  for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) / 200);
  for (const auto& [output, rounding] : {std::pair("__half", 0x1p-11), std::pair("__nv_bfloat16", 0x1p-8)}) {
    for (const char* act : kActs) {
      const Slopes all = slopes(act, output, x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double most = 0.05 * rounding * std::abs(all.exact[i]) + 1e-6;
        ASSERT_NEAR(all.ours[i], all.exact[i], most) << act << " at " << x[i];
        ASSERT_NEAR(0.5 * all.twice[i], all.exact[i], most) << act << " at " << x[i];
      }
    }
  }
}

TEST(ActivationSlope, has_limits_at_infinity_and_keeps_nan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const char* act : kActs) {
    for (const char* output : {"float", "__half", "__nv_bfloat16"}) {
      const Slopes all = slopes(act, output, {-kInfinity, kInfinity, std::numeric_limits<float>::quiet_NaN()});
      EXPECT_NEAR(all.ours[0], all.exact[0], 1e-9) << act << " " << output;
      EXPECT_NEAR(all.ours[1], all.exact[1], 1e-9) << act << " " << output;
      EXPECT_NEAR(all.twice[0], 2 * all.exact[0], 1e-9) << act << " " << output;
      EXPECT_NEAR(all.twice[1], 2 * all.exact[1], 1e-9) << act << " " << output;
      EXPECT_TRUE(std::isnan(all.twice[2]) || act == std::string("none")) << act << " " << output;
      EXPECT_TRUE(std::isnan(all.ours[2]) || act == std::string("none")) << act << " " << output;
    }
  }
}

}  // namespace
}  // namespace tilewright::test::activation_bwd_test
