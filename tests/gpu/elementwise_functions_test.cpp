// SPDX-License-Identifier: Apache-2.0
// Activations, Philox and dropout on a GPU and on the emulator.
#include "tests/gpu/device_functions.hpp"

namespace tilewright::test {
namespace {

TEST_F(DeviceFunctions, philox_and_dropout_give_the_same_bits) {
  expect_same(R"cu(
#include "device/dropout.cuh"
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  const u64 key = static_cast<u64>(in[4]) << 32 | in[i];
  const PhiloxWords words = philox4x32_10({{in[i], in[i + 1], in[i + 2], in[i + 3]}}, key);
  for (int k = 0; k < 4; ++k) out[20 * i + k] = words[k];
  float whole[8], across[8];
  for (int k = 0; k < 8; ++k) whole[k] = across[k] = 1.0f + k;
  const Dropout dropout(static_cast<float>(i % 11) * 0.1f, key, in[i + 1]);
  dropout.apply<8>(whole, in[i + 2], i * 8);
  dropout.apply<1>(across, in[i + 2], i * 8 + i % 7);
  for (int k = 0; k < 8; ++k) {
    out[20 * i + 4 + k] = __float_as_uint(whole[k]);
    out[20 * i + 12 + k] = __float_as_uint(across[k]);
  }
})cu",
              {.blocks = 16, .threads = 256}, random_words(4096 + 4), 4096 * 20);
}

TEST_F(DeviceFunctions, activations_are_as_exact_as_their_output_shows) {
  // Both must give the same verdict: 16-bit outputs are at most 1.5 units in the last place from the exact result
  // (rounding alone is half a unit), fp32 has an absolute bound, and infinities and NaN are right.
  expect_same(R"cu(
#include "device/activation.cuh"
#include "device/convert.cuh"
#define ACT(Struct, text) struct Struct { static constexpr Name act{text}; };
ACT(Relu, "relu") ACT(Leaky, "leaky_relu") ACT(Gelu, "gelu") ACT(GeluErf, "gelu_erf") ACT(Silu, "silu") ACT(Tanh, "tanh")
template <class Act, class T>
__device__ u32 right(float x, int digits, int least_exponent) {
  const double exact = exact_activation<Act>(x);
  const double y = to_float(from_float<T>(activate<Act, T>(x)));
  if (exact != exact) return y != y;
  if (fabs(exact) == kInfinity) return y == exact;
  const double size = fmax(fabs(exact), 1e-30);
  int exponent = static_cast<int>(floor(log2(size)));
  if (exponent < least_exponent) exponent = least_exponent;
  const double most = is_same<T, float> ? 1e-6 * (1.0 + fabs(exact)) : 1.5 * exp2(static_cast<double>(exponent - digits + 1));
  // Above the largest finite value of fp16 there is only infinity.
  return fabs(y - exact) <= most || (is_same<T, __half> && fabs(exact) >= 65504.0);
}
template <class T>
__device__ u32 all_right(float x, int digits, int least_exponent) {
  return right<Relu, T>(x, digits, least_exponent) | right<Leaky, T>(x, digits, least_exponent) << 1 |
         right<Gelu, T>(x, digits, least_exponent) << 2 | right<GeluErf, T>(x, digits, least_exponent) << 3 |
         right<Silu, T>(x, digits, least_exponent) << 4 | right<Tanh, T>(x, digits, least_exponent) << 5;
}
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  const float half = __half2float(__ushort_as_half(static_cast<u16>(i)));
  const float wide = __bfloat162float(__ushort_as_bfloat16(static_cast<u16>(i)));
  const u32 f16 = all_right<__half>(half, 11, -14);
  const u32 bf16 = all_right<__nv_bfloat16>(wide, 8, -126);
  const u32 f32 = all_right<float>(wide, 24, -126);
  out[i] = f16 | bf16 << 8 | f32 << 16;
})cu",
              {.blocks = 256, .threads = 256}, {}, 1 << 16);
}

}  // namespace
}  // namespace tilewright::test
