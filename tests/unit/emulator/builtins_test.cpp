// SPDX-License-Identifier: Apache-2.0
// Atomics, integer and mathematical functions: kernels/emulator/builtins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test {
namespace {

TEST(Atomics, every_operation_over_many_threads_gives_the_total) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(int* i, unsigned* u, unsigned long long* l, float* f, double* d) {
  const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&i[0], -3);
  atomicSub(&i[1], static_cast<int>(t));
  atomicMin(&i[2], 5 - static_cast<int>(t));
  atomicMax(&i[3], static_cast<int>(t) - 5);
  atomicAdd(&u[0], 0x80000001u);
  atomicAnd(&u[1], ~(1u << (t % 16)));
  atomicOr(&u[2], 1u << (t % 16));
  atomicXor(&u[3], t);
  atomicInc(&u[4], 9u);
  atomicDec(&u[5], 9u);
  atomicMax(&u[6], t);
  atomicAdd(&l[0], 0x100000000ull);
  atomicMax(&l[1], 1ull << (t % 40));
  atomicAdd(&f[0], 0.5f);
  atomicAdd(&d[0], 0.25);
  for (unsigned old = u[7]; ;) {
    const unsigned seen = atomicCAS(&u[7], old, old + 2);
    if (seen == old) break;
    old = seen;
  }
  if (atomicExch(&u[8], 1u) == 0u) atomicAdd(&u[9], 1u);
})cu");
  constexpr int kThreads = 4 * 64;
  std::vector<int> i{0, 0, 0, 0};
  std::vector<unsigned> u{0, ~0u, 0, 0, 0, 0, 0, 0, 0, 0};
  std::vector<unsigned long long> l{0, 0};
  float f = 0;
  double d = 0;
  ASSERT_EQ(kernel.run(extents(4, 64), i.data(), u.data(), l.data(), &f, &d).text, "");
  EXPECT_THAT(i, testing::ElementsAre(-3 * kThreads, -kThreads * (kThreads - 1) / 2, 5 - (kThreads - 1), kThreads - 6));
  EXPECT_EQ(u[0], 0x80000001u * kThreads);
  EXPECT_EQ(u[1], 0xffff0000u);
  EXPECT_EQ(u[2], 0xffffu);
  EXPECT_EQ(u[3], 0u);
  EXPECT_EQ(u[4], kThreads % 10u);
  EXPECT_EQ(u[5], (10u - kThreads % 10u) % 10u);
  EXPECT_EQ(u[6], kThreads - 1u);
  EXPECT_EQ(u[7], 2u * kThreads);
  EXPECT_EQ(u[9], 1u);
  EXPECT_EQ(l[0], 0x100000000ull * kThreads);
  EXPECT_EQ(l[1], 1ull << 39);
  EXPECT_EQ(f, 128.0f);
  EXPECT_EQ(d, 64.0);
}

TEST(Atomics, a_thread_that_spins_lets_the_one_it_waits_for_run) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(int* flag, int* out) {
  if (threadIdx.x == 70) atomicExch(flag, 42);
  while (atomicAdd(flag, 0) == 0) {
  }
  out[threadIdx.x] = *flag;
})cu");
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    int flag = 0;
    std::vector<int> out(96);
    EmulatedLaunch launch = extents(1, 96);
    launch.seed = seed;
    ASSERT_EQ(kernel.run(launch, &flag, out.data()).text, "");
    EXPECT_THAT(out, testing::Each(42));
  }
}

TEST(Atomics, the_last_block_to_finish_sees_what_all_others_wrote) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(int* partial, unsigned* done, int* total) {
  partial[blockIdx.x] = blockIdx.x + 1;
  __threadfence();
  if (atomicAdd(done, 1u) == gridDim.x - 1) {
    for (int i = 0; i < gridDim.x; ++i) *total += partial[i];
  }
})cu");
  std::vector<int> partial(100);
  unsigned done = 0;
  int total = 0;
  ASSERT_EQ(kernel.run(extents(100, 1), partial.data(), &done, &total).text, "");
  EXPECT_EQ(total, 5050);
}

TEST(Atomics, the_16_bit_types_add_too) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(__half* h, __nv_bfloat162* b) {
  atomicAdd(h, __float2half(0.5f));
  atomicAdd(b, __floats2bfloat162_rn(1.0f, 2.0f));
})cu");
  std::uint16_t h = 0;
  alignas(4) std::uint16_t b[2] = {0, 0};
  ASSERT_EQ(kernel.run(extents(1, 64), &h, &b[0]).text, "");
  EXPECT_EQ(h, 0x5000);     // 32
  EXPECT_EQ(b[0], 0x4280);  // 64
  EXPECT_EQ(b[1], 0x4300);  // 128
}

TEST(Integers, intrinsics_agree_with_their_definitions) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(long long* out) {
  int i = 0;
  out[i++] = __clz(1);
  out[i++] = __clz(0);
  out[i++] = __clz(-1);
  out[i++] = __clzll(1);
  out[i++] = __popc(0xf0f0u);
  out[i++] = __popcll(~0ull);
  out[i++] = __ffs(0);
  out[i++] = __ffs(8);
  out[i++] = __brev(1u);
  out[i++] = __umulhi(0x80000000u, 6u);
  out[i++] = __mulhi(-2, 0x40000000);
  out[i++] = __umul64hi(1ull << 63, 6);
  out[i++] = __byte_perm(0x33221100u, 0x77665544u, 0x7240u);
  out[i++] = __byte_perm(0x00008000u, 0u, 0x9999u);
  out[i++] = __funnelshift_l(0x80000000u, 1u, 1u);
  out[i++] = __funnelshift_r(0u, 1u, 4u);
  out[i++] = __float_as_uint(1.0f);
  out[i++] = __float2int_rn(2.5f);
  out[i++] = __float2int_rz(-2.9f);
  out[i++] = __float2int_rd(-2.1f);
  out[i++] = __float2int_ru(2.1f);
  out[i++] = __float2int_rn(1e20f);
  out[i++] = __float2uint_rz(-5.0f);
  out[i++] = __float2int_rz(__int_as_float(0x7fffffff));
  out[i++] = static_cast<int>(min(3u, 2u)) + max(-3, -4);
})cu");
  std::vector<long long> out(25, -99);
  ASSERT_EQ(kernel.run(extents(1, 1), out.data()).text, "");
  EXPECT_THAT(out, testing::ElementsAre(31, 32, 0, 63, 8, 64, 0, 4, 0x80000000ll, 3, -1, 3, 0x77224400, 0x80808080ll, 3,
                                        0x10000000, 0x3f800000, 2, -2, -3, 3, 2147483647, 0, 0, -1));
}

TEST(Mathematics, functions_agree_with_the_library_of_the_host_in_double) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/math.cuh"
template <class Config> __global__ void kernel(const float* x, float* y) {
  const float v = x[threadIdx.x];
  float* out = y + threadIdx.x * 12;
  out[0] = expf(v);
  out[1] = ptx::ex2_approx(v);
  out[2] = logf(fabsf(v));
  out[3] = ptx::lg2_approx(fabsf(v));
  out[4] = rsqrtf(fabsf(v));
  out[5] = ptx::rsqrt_approx(fabsf(v));
  out[6] = ptx::rcp_approx(v);
  out[7] = ptx::tanh_approx(v);
  out[8] = erff(v);
  out[9] = fmaf(v, v, 1.0f);
  out[10] = fmaxf(v, 0.5f) - fminf(v, 0.5f);
  out[11] = __expf(v) + exp2f(v) + sqrtf(fabsf(v));
})cu");
  std::vector<float> x;
  for (int i = 0; i < 64; ++i) x.push_back(0.25f * static_cast<float>(i) - 7.9f);
  std::vector<float> y(64 * 12);
  ASSERT_EQ(kernel.run(extents(1, 64), static_cast<const float*>(x.data()), y.data()).text, "");
  for (std::size_t i = 0; i < 64; ++i) {
    const auto v = static_cast<double>(x[i]);
    const double size = std::fabs(v);
    const double expected[12] = {std::exp(v),     std::exp2(v),        std::log(size),
                                 std::log2(size), 1 / std::sqrt(size), 1 / std::sqrt(size),
                                 1 / v,           std::tanh(v),        std::erf(v),
                                 v * v + 1,       std::fabs(v - 0.5),  std::exp(v) + std::exp2(v) + std::sqrt(size)};
    for (std::size_t which = 0; which < 12; ++which) {
      EXPECT_NEAR(static_cast<double>(y[12 * i + which]), expected[which], 4e-7 * (1e-2 + std::fabs(expected[which])))
          << "function " << which << " of " << v;
    }
  }
}

TEST(Mathematics, a_nan_gives_way_to_a_number_in_min_and_max) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(float* out) {
  const float nan = __int_as_float(0x7fc00000);
  out[0] = fmaxf(nan, -2.0f);
  out[1] = fmaxf(-2.0f, nan);
  out[2] = fminf(nan, 3.0f);
  out[3] = fminf(3.0f, nan);
  out[4] = fmaxf(nan, nan);
})cu");
  std::vector<float> out(5);
  ASSERT_EQ(kernel.run(extents(1, 1), out.data()).text, "");
  EXPECT_EQ(out[0], -2.0f);
  EXPECT_EQ(out[1], -2.0f);
  EXPECT_EQ(out[2], 3.0f);
  EXPECT_EQ(out[3], 3.0f);
  EXPECT_TRUE(std::isnan(out[4]));
}

TEST(Mathematics, traps_and_failed_assertions_end_the_launch) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(int which) {
  if (which == 1) assert(which == 2);
  if (which == 2) __trap();
})cu");
  EXPECT_TRUE(kernel.run(extents(1, 1), 0).ok());
  const EmulatedOutcome failed = kernel.run(extents(1, 1), 1);
  EXPECT_EQ(failed.status, EmulatedOutcome::Status::trap);
  EXPECT_THAT(failed.text, testing::HasSubstr("assert(which == 2)"));
  EXPECT_THAT(kernel.run(extents(1, 1), 2).text, testing::HasSubstr("__trap()"));
}

}  // namespace
}  // namespace tilewright::test
