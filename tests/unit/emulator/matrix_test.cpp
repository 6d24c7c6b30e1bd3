// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix and mma: kernels/emulator/device/ptx/ldmatrix.cuh, stmatrix.cuh and mma.cuh, against plain loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test {
namespace {

TEST(Ldmatrix, gives_each_lane_the_elements_that_the_ptx_manual_names) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/ldmatrix.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(u32* plain, u32* transposed, u32* small) {
  u16* shared = shared_storage<u16>();
  const int lane = threadIdx.x;
  // Element (row r, column c) of matrix m is m * 64 + r * 8 + c; rows lie 24 elements apart.
  for (int c = 0; c < 8; ++c) shared[lane * 24 + c] = static_cast<u16>(lane * 8 + c);
  __syncwarp();
  u32 four[4];
  ptx::ldmatrix_x4(four, shared + lane * 24);
  for (int m = 0; m < 4; ++m) plain[lane * 4 + m] = four[m];
  ptx::ldmatrix_x4_trans(four, shared + lane * 24);
  for (int m = 0; m < 4; ++m) transposed[lane * 4 + m] = four[m];
  u32 two[2], one[1];
  ptx::ldmatrix_x2(two, shared + lane % 16 * 24);
  ptx::ldmatrix_x1_trans(one, shared + lane % 8 * 24);
  small[lane * 3] = two[0];
  small[lane * 3 + 1] = two[1];
  small[lane * 3 + 2] = one[0];
})cu");
  std::vector<std::uint32_t> plain(128), transposed(128), small(96);
  ASSERT_EQ(kernel.run(extents(1, 32, 32 * 48), plain.data(), transposed.data(), small.data()).text, "");
  const auto element = [](unsigned matrix, unsigned row, unsigned column) { return matrix * 64 + row * 8 + column; };
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned row = lane / 4, column = lane % 4 * 2;
    for (unsigned m = 0; m < 4; ++m) {
      EXPECT_EQ(plain[lane * 4 + m], element(m, row, column) | element(m, row, column + 1) << 16);
      EXPECT_EQ(transposed[lane * 4 + m], element(m, column, row) | element(m, column + 1, row) << 16);
    }
    EXPECT_EQ(small[lane * 3], plain[lane * 4]);
    EXPECT_EQ(small[lane * 3 + 1], plain[lane * 4 + 1]);
    EXPECT_EQ(small[lane * 3 + 2], transposed[lane * 4]);
  }
}

TEST(Ldmatrix, a_row_that_is_not_aligned_to_16_is_reported) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/ldmatrix.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(int offset) {
  u32 one[1];
  ptx::ldmatrix_x1(one, shared_storage<char>() + threadIdx.x * 16 + (threadIdx.x == 3 ? offset : 0));
})cu");
  EXPECT_TRUE(kernel.run(extents(1, 32, 1024), 16).ok());
  const EmulatedOutcome outcome = kernel.run(extents(1, 32, 1024), 8);
  EXPECT_EQ(outcome.status, EmulatedOutcome::Status::misaligned);
  EXPECT_THAT(outcome.text, testing::HasSubstr("thread (3,0,0): ldmatrix of a row that is not aligned to 16"));
}

TEST(Stmatrix, stores_each_lanes_elements_where_the_ptx_manual_says) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/ldmatrix.cuh"
#include "device/ptx/stmatrix.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(const u32* in, const int* places, u16* stored, u32* back) {
  u16* shared = shared_storage<u16>();
  const int lane = threadIdx.x;
  for (int i = lane; i < 32 * 24; i += 32) shared[i] = 7;
  __syncwarp();
  u32 four[4];
  for (int m = 0; m < 4; ++m) four[m] = in[lane * 4 + m];
  u16* row = shared + places[lane] * 24;  // rows lie 24 elements apart
  ptx::stmatrix_x4(row, four);
  for (int m = 0; m < 4; ++m) four[m] = 0;
  ptx::ldmatrix_x4(four, row);
  for (int m = 0; m < 4; ++m) back[lane * 4 + m] = four[m];
  __syncwarp();
  for (int i = lane; i < 32 * 24; i += 32) stored[i] = shared[i];
})cu");
  std::mt19937 random(5);
  std::vector<std::uint32_t> in(128), back(128);
  for (std::uint32_t& word : in) word = static_cast<std::uint32_t>(random());
  // The rows in random order.
  std::vector<int> places(32);
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), random);
  std::vector<std::uint16_t> stored(32 * 24), expected(32 * 24, 7);
  ASSERT_EQ(kernel.run(extents(1, 32, 32 * 48), in.data(), places.data(), stored.data(), back.data()).text, "");
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t m = 0; m < 4; ++m) {
      // The two elements of the lane's register m lie in row lane / 4 of matrix m.
      const auto row = static_cast<std::size_t>(places[8 * m + lane / 4]);
      expected[row * 24 + lane % 4 * 2] = static_cast<std::uint16_t>(in[lane * 4 + m]);
      expected[row * 24 + lane % 4 * 2 + 1] = static_cast<std::uint16_t>(in[lane * 4 + m] >> 16);
    }
  }
  EXPECT_EQ(stored, expected);
  EXPECT_EQ(back, in) << "ldmatrix is the way back";
}

TEST(Stmatrix, transposed_stores_what_ldmatrix_transposed_loads) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/ldmatrix.cuh"
#include "device/ptx/stmatrix_transposed.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(const u32* in, u16* stored, u32* back) {
  u16* shared = shared_storage<u16>();
  const int lane = threadIdx.x;
  u32 four[4];
  for (int m = 0; m < 4; ++m) four[m] = in[lane * 4 + m];
  ptx::stmatrix_x4_transposed(shared + lane * 8, four);
  for (int m = 0; m < 4; ++m) four[m] = 0;
  ptx::ldmatrix_x4_trans(four, shared + lane * 8);
  for (int m = 0; m < 4; ++m) back[lane * 4 + m] = four[m];
  for (int i = 0; i < 8; ++i) stored[lane * 8 + i] = shared[lane * 8 + i];
})cu");
  std::mt19937 random(6);
  std::vector<std::uint32_t> in(128), back(128);
  for (std::uint32_t& word : in) word = static_cast<std::uint32_t>(random());
  std::vector<std::uint16_t> stored(256), expected(256);
  ASSERT_EQ(kernel.run(extents(1, 32, 1024), in.data(), stored.data(), back.data()).text, "");
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t m = 0; m < 4; ++m) {
      // The two elements of the lane's register m lie in column lane / 4 of matrix m.
      const std::size_t column = m * 64 + lane / 4;
      expected[column + lane % 4 * 16] = static_cast<std::uint16_t>(in[lane * 4 + m]);
      expected[column + lane % 4 * 16 + 8] = static_cast<std::uint16_t>(in[lane * 4 + m] >> 16);
    }
  }
  EXPECT_EQ(stored, expected);
  EXPECT_EQ(back, in) << "ldmatrix is the way back";
}

TEST(Stmatrix, a_row_that_is_not_aligned_to_16_is_reported) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/stmatrix.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(int offset) {
  const u32 four[4] = {};
  ptx::stmatrix_x4(shared_storage<char>() + threadIdx.x * 16 + (threadIdx.x == 29 ? offset : 0), four);
})cu");
  EXPECT_TRUE(kernel.run(extents(1, 32, 1024), 16).ok());
  const EmulatedOutcome outcome = kernel.run(extents(1, 32, 1024), 8);
  EXPECT_EQ(outcome.status, EmulatedOutcome::Status::misaligned);
  EXPECT_THAT(outcome.text, testing::HasSubstr("thread (29,0,0): stmatrix to a row that is not aligned to 16"));
}

/// A tile product whose operands are loaded element by element from row-major A (16 x k) and B (k x 8).
std::string product(const std::string& type, const std::string& bits, const std::string& mma, int k) {
  return "#include \"device/ptx/mma.cuh\"\nusing T = " + type + ";\nusing Bits = " + bits +
         ";\nconstexpr int kDepth = " + std::to_string(k) + R"cu(;
template <class Config> __global__ void kernel(const T* a, const T* b, const float* c, float* d) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  constexpr int kPer = 4 / sizeof(T);
  const auto pack = [](const T* first, int stride) {
    u32 packed = 0;
    for (int i = 0; i < kPer; ++i) {
      packed |= static_cast<u32>(__builtin_bit_cast(Bits, first[i * stride])) << (32 / kPer * i);
    }
    return packed;
  };
  u32 fa[4], fb[2];
  float fc[4];
  for (int i = 0; i < 4; ++i) fa[i] = pack(a + (g + i % 2 * 8) * kDepth + i / 2 * kDepth / 2 + t * kPer, 1);
  for (int i = 0; i < 2; ++i) fb[i] = pack(b + (i * kDepth / 2 + t * kPer) * 8 + g, 8);
  for (int i = 0; i < 4; ++i) fc[i] = c[(g + i / 2 * 8) * 8 + t * 2 + i % 2];
  ptx::)cu" +
         mma + R"cu((fc, fa, fb, fc);
  for (int i = 0; i < 4; ++i) d[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = fc[i];
})cu";
}

double noise(std::uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return static_cast<double>(static_cast<std::int32_t>(state) >> 8) * 0x1p-22;
}

/// Runs the kernel on random values that are exact in the type (`keep`: a mask of float bits), and compares in double.
template <class T>
void expect_product(const EmulatedKernel& kernel, std::size_t k, std::uint32_t keep, T (*encode)(float)) {
  std::uint32_t state = 7;
  std::vector<double> a(16 * k), b(k * 8);
  std::vector<T> ta(a.size()), tb(b.size());
  const auto fill = [&](std::vector<double>& exact, std::vector<T>& typed) {
    for (std::size_t i = 0; i < exact.size(); ++i) {
      std::uint32_t bits = 0;
      const auto value = static_cast<float>(noise(state));
      std::memcpy(&bits, &value, 4);
      bits &= keep;
      float kept = 0;
      std::memcpy(&kept, &bits, 4);
      exact[i] = static_cast<double>(kept);
      typed[i] = encode(kept);
    }
  };
  fill(a, ta);
  fill(b, tb);
  std::vector<float> c(128), d(128);
  for (float& value : c) value = static_cast<float>(noise(state));
  ASSERT_EQ(kernel
                .run(extents(1, 32), static_cast<const T*>(ta.data()), static_cast<const T*>(tb.data()),
                     static_cast<const float*>(c.data()), d.data())
                .text,
            "");
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t column = 0; column < 8; ++column) {
      auto sum = static_cast<double>(c[row * 8 + column]);
      for (std::size_t i = 0; i < k; ++i) sum += a[row * k + i] * b[i * 8 + column];
      EXPECT_EQ(d[row * 8 + column], static_cast<float>(sum)) << row << "," << column;
    }
  }
}

std::uint16_t upper_half(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  return static_cast<std::uint16_t>(bits >> 16);
}

/// The bits of a value that is exact and normal in half.
std::uint16_t half_bits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude < 0x38800000u) return static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | (magnitude - 0x38000000u) >> 13);
}

TEST(Mma, bf16_products_agree_with_plain_ones) {
  const EmulatedKernel kernel(product("__nv_bfloat16", "u16", "mma_m16n8k16_bf16", 16));
  expect_product<std::uint16_t>(kernel, 16, 0xffff0000u, upper_half);
}

TEST(Mma, f16_products_agree_with_plain_ones) {
  const EmulatedKernel kernel(product("__half", "u16", "mma_m16n8k16_f16", 16));
  expect_product<std::uint16_t>(kernel, 16, 0xffffe000u, half_bits);
}

TEST(Mma, tf32_products_agree_with_plain_ones) {
  const EmulatedKernel kernel(product("float", "u32", "mma_m16n8k8_tf32", 8));
  expect_product<float>(kernel, 8, 0xffffe000u, [](float value) { return value; });
}

TEST(Mma, tf32_uses_the_upper_19_bits_and_rounding_to_it_goes_to_the_nearest) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/mma.cuh"
template <class Config> __global__ void kernel(float* d, u32* rounded) {
  const u32 one = __float_as_uint(1.0f);
  const u32 a[4] = {one | 0x1fffu, 0, 0, 0}, b[2] = {one, 0};
  float sum[4] = {};
  ptx::mma_m16n8k8_tf32(sum, a, b, sum);
  d[threadIdx.x] = sum[0];
  if (threadIdx.x == 0) {
    rounded[0] = ptx::round_to_tf32(__uint_as_float(one | 0x0fffu));
    rounded[1] = ptx::round_to_tf32(__uint_as_float(one | 0x1000u));
    rounded[2] = ptx::round_to_tf32(-kInfinity);
  }
})cu");
  std::vector<float> d(32);
  std::vector<std::uint32_t> rounded(3);
  ASSERT_EQ(kernel.run(extents(1, 32), d.data(), rounded.data()).text, "");
  EXPECT_THAT(d, testing::Each(4.0f));
  EXPECT_THAT(rounded, testing::ElementsAre(0x3f800000u, 0x3f802000u, 0xff800000u));
}

}  // namespace
}  // namespace tilewright::test
