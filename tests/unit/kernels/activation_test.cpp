// SPDX-License-Identifier: Apache-2.0
// kernels/device/activation.cuh: as exact as accurate fp32 functions rounded once, for all 16-bit arguments.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test::activation_test {
namespace {

constexpr const char* kActivations[] = {"none", "relu", "leaky_relu", "gelu", "gelu_erf", "silu", "tanh"};

/// Evaluates an activation for float arguments, rounded to the output type: by the header, by the plain fp32 formula of
/// eager frameworks, and exactly.
EmulatedKernel evaluator(const std::string& act, const std::string& output) {
  return EmulatedKernel(fmt::format(R"cu(
#include "device/activation.cuh"
#include "device/convert.cuh"
struct Act {{ static constexpr tilewright::Name act{{"{0}"}}; }};
__device__ float plain(float x) {{
  if constexpr (Act::act == "relu") return x > 0.0f ? x : 0.0f;
  if constexpr (Act::act == "leaky_relu") return x > 0.0f ? x : 0.01f * x;
  if constexpr (Act::act == "gelu") return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
  if constexpr (Act::act == "gelu_erf") return x * 0.5f * (1.0f + erff(x * 0.70710678f));
  if constexpr (Act::act == "silu") return x / (1.0f + expf(-x));
  if constexpr (Act::act == "tanh") return tanhf(x);
  return x;
}}
template <class Config> __global__ void kernel(const float* x, float* y, float* eager, double* exact, int n) {{
  using namespace tilewright;
  using Output = {1};
  for (int i = threadIdx.x; i < n; i += 32) {{
    y[i] = to_float(from_float<Output>(activate<Act, Output>(x[i])));
    eager[i] = to_float(from_float<Output>(plain(x[i])));
    exact[i] = exact_activation<Act>(x[i]);
  }}
}})cu",
                                    act, output));
}

struct Values {
  std::vector<float> y, eager;
  std::vector<double> exact;
};

Values evaluate(const EmulatedKernel& kernel, const std::vector<float>& x) {
  Values values{std::vector<float>(x.size()), std::vector<float>(x.size()), std::vector<double>(x.size())};
  EXPECT_EQ(kernel
                .run(extents(1, 32), x.data(), values.y.data(), values.eager.data(), values.exact.data(),
                     static_cast<int>(x.size()))
                .text,
            "");
  return values;
}

/// A floating-point type: bits of the significand and the exponent of the least normal number.
struct Format {
  const char* name;
  int digits;
  int least_exponent;
  double largest;

  [[nodiscard]] double ulp(double value) const {
    const int exponent = value == 0.0 ? least_exponent : std::max(std::ilogb(value), least_exponent);
    return std::ldexp(1.0, exponent - digits + 1);
  }
};
constexpr Format kFloat{"float", 24, -126, std::numeric_limits<float>::max()};
constexpr Format kHalf{"__half", 11, -14, 65504.0};
constexpr Format kBfloat16{"__nv_bfloat16", 8, -126, 3.3895313892515355e38};

/// All finite values of a 16-bit format.
std::vector<float> all_values(const Format& format) {
  std::vector<float> values;
  const int fractions = 1 << (format.digits - 1);
  for (int exponent = format.least_exponent - 1; exponent < 128; ++exponent) {
    for (int fraction = 0; fraction < fractions; ++fraction) {
      const bool subnormal = exponent < format.least_exponent;
      const double value = std::ldexp((subnormal ? 0 : 1) + static_cast<double>(fraction) / fractions,
                                      subnormal ? format.least_exponent : exponent);
      if (value > format.largest) return values;
      values.push_back(static_cast<float>(value));
      values.push_back(static_cast<float>(-value));
    }
  }
  return values;
}

/// Arguments of all magnitudes up to 2^7, of both signs.
std::vector<float> some_floats() {
  std::vector<float> values;
  for (double x = 1e-40; x < 128.0; x *= 1.0041) {
    values.push_back(static_cast<float>(x));
    values.push_back(static_cast<float>(-x));
  }
  for (int i = -8000; i <= 8000; ++i) values.push_back(static_cast<float>(i) * 0.00123F);
  return values;
}

struct Error {
  double square = 0;
  double most = 0;
  float at = 0;

  void add(double ulps, float x) {
    square += ulps * ulps;
    if (ulps > most) most = ulps, at = x;
  }
};

/// Compares errors in units of the output's last place; for exact results below `least`, in units of the last place of
/// `least`.
void expect_as_exact_as_eager(const char* act, const Format& format, const std::vector<float>& x) {
  constexpr double least = 1e-30;
  const Values values = evaluate(evaluator(act, format.name), x);
  Error ours;
  Error eager;
  double absolute = 0;  // sums of squares, for x of ordinary size
  double eager_absolute = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = values.exact[i];
    if (std::abs(x[i]) < 8.0F) {
      absolute += (values.y[i] - exact) * (values.y[i] - exact);
      eager_absolute += (values.eager[i] - exact) * (values.eager[i] - exact);
    }
    const double ulp = format.ulp(std::max(std::abs(exact), least));
    ours.add(std::abs(values.y[i] - exact) / ulp, x[i]);
    eager.add(std::abs(values.eager[i] - exact) / ulp, x[i]);
  }
  EXPECT_LE(std::sqrt(ours.square), 1.05 * std::sqrt(eager.square) + 1e-9) << act << ' ' << format.name;
  EXPECT_LE(ours.most, eager.most + 1.0) << act << ' ' << format.name << " at " << ours.at;
  EXPECT_LE(ours.most, format.digits < 24 ? 1.0 : 1e30) << act << ' ' << format.name << " at " << ours.at;
  EXPECT_LE(absolute, 1.05 * eager_absolute + 1e-30) << act << ' ' << format.name;
}

TEST(Activation, is_as_exact_as_the_plain_formula_rounded_once) {
  for (const char* act : kActivations) {
    for (const Format& format : {kHalf, kBfloat16}) expect_as_exact_as_eager(act, format, all_values(format));
  }
}

TEST(Activation, in_fp32_is_as_exact_as_the_plain_formula) {
  for (const char* act : kActivations) expect_as_exact_as_eager(act, kFloat, some_floats());
}

TEST(Activation, has_its_limits_at_infinity_and_keeps_nan) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x{infinity, -infinity, std::nanf(""), 3e38F, -3e38F, 0.0F};
  for (const char* act : kActivations) {
    const std::string name = act;
    const bool linear = name == "none" || name == "leaky_relu";
    for (const Format& format : {kFloat, kHalf, kBfloat16}) {
      const Values values = evaluate(evaluator(act, format.name), x);
      EXPECT_EQ(values.y[0], name == "tanh" ? 1.0F : infinity) << act << format.name;
      EXPECT_EQ(values.y[1], name == "tanh" ? -1.0F : linear ? -infinity : 0.0F) << act << format.name;
      EXPECT_TRUE(std::isnan(values.y[2])) << act << format.name;
      EXPECT_EQ(values.y[3] == 1.0F, name == "tanh") << act;
      EXPECT_TRUE(linear || values.y[4] == (name == "tanh" ? -1.0F : 0.0F)) << act << format.name;
      EXPECT_EQ(values.y[5], 0.0F) << act << format.name;
      EXPECT_EQ(values.exact[1], name == "tanh" ? -1.0 : linear ? -infinity : 0.0) << act;
    }
  }
}

}  // namespace
}  // namespace tilewright::test::activation_test
