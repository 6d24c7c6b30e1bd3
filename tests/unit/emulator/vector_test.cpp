// SPDX-License-Identifier: Apache-2.0
// Vector accesses and conversions: kernels/device/vector.cuh and convert.cuh, and the emulator's alignment checks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test {
namespace {

using ::testing::HasSubstr;
using Status = EmulatedOutcome::Status;

/// Copies bytes by vectors of all lengths and with all hints, and counts the bytes moved.
constexpr const char* kCopies = R"cu(
#include "device/vector.cuh"
template <class T, int kVec, Load kLoad, Store kStore>
__device__ void copy(const T*& from, T*& to) {
  store_vector<kStore>(to, load_vector<kVec, kLoad>(from));
  from += kVec;
  to += kVec;
}
template <class T, int kVec>
__device__ void all_hints(const T*& from, T*& to) {
  copy<T, kVec, Load::kDefault, Store::kDefault>(from, to);
  copy<T, kVec, Load::kReadOnly, Store::kStreaming>(from, to);
  copy<T, kVec, Load::kStreaming, Store::kEvictFirst>(from, to);
  copy<T, kVec, Load::kEvictFirst, Store::kEvictLast>(from, to);
  copy<T, kVec, Load::kEvictLast, Store::kDefault>(from, to);
}
template <class T>
__device__ long long all_lengths(const T* from, T* to) {
  const T* start = from;
  if constexpr (sizeof(T) <= 2) all_hints<T, 16>(from, to);
  if constexpr (sizeof(T) <= 4) all_hints<T, 8>(from, to);
  all_hints<T, 4>(from, to);
  all_hints<T, 2>(from, to);
  all_hints<T, 1>(from, to);
  return from - start;
}
template <class Config> __global__ void kernel(const void* from, void* to, long long* moved) {
  moved[0] = all_lengths(static_cast<const float*>(from), static_cast<float*>(to)) * 4;
  moved[1] = all_lengths(static_cast<const __half*>(from), static_cast<__half*>(to)) * 2;
  moved[2] = all_lengths(static_cast<const unsigned char*>(from), static_cast<unsigned char*>(to));
  moved[3] = all_lengths(static_cast<const double*>(from), static_cast<double*>(to)) * 8;
})cu";

TEST(Vector, moves_bytes_unchanged_at_every_length_and_with_every_hint) {
  const EmulatedKernel kernel(kCopies);
  alignas(32) std::uint8_t from[512];
  alignas(32) std::uint8_t to[512] = {};
  for (std::size_t i = 0; i < 512; ++i) from[i] = static_cast<std::uint8_t>(i * 37 + 11);
  long long moved[4] = {};
  ASSERT_EQ(kernel.run(extents(1, 1), static_cast<const void*>(from), static_cast<void*>(to), &moved[0]).text, "");
  EXPECT_THAT(moved, testing::ElementsAre(5 * 15 * 4, 5 * 31 * 2, 5 * 31, 5 * 7 * 8));
  for (std::size_t i = 0; i < 512; ++i) EXPECT_EQ(to[i], i < 310 ? from[i] : 0) << i;
}

TEST(Vector, conversions_of_vectors_agree_with_those_of_elements) {
  const EmulatedKernel kernel(R"cu(
#include "device/convert.cuh"
template <class T, int kVec>
__device__ void check(const float (&x)[kVec], int* wrong) {
  const Vector<T, kVec> narrow = from_float<T>(x);
  float wide[kVec];
  to_float(narrow, wide);
  for (int i = 0; i < kVec; ++i) {
    const T alone = from_float<T>(x[i]);
    if (to_float(alone) != wide[i] || to_float(narrow[i]) != wide[i]) atomicAdd(wrong, 1);
  }
}
template <class Config> __global__ void kernel(int* wrong) {
  float x[8];
  for (int i = 0; i < 8; ++i) x[i] = 0.1f * (i + 1) + threadIdx.x;
  check<float>(x, wrong);
  check<__half>(x, wrong);
  check<__nv_bfloat16>(x, wrong);
  const float one[1] = {x[3]};
  check<__half>(one, wrong);
})cu");
  int wrong = 0;
  ASSERT_EQ(kernel.run(extents(1, 32), &wrong).text, "");
  EXPECT_EQ(wrong, 0);
}

TEST(Vector, a_misaligned_vector_load_is_reported_with_its_address) {
  const EmulatedKernel kernel(R"cu(
#include "device/vector.cuh"
template <class Config> __global__ void kernel(const float* x, float* y) {
  y[threadIdx.x] = load_vector<4, Load::kReadOnly>(x)[0];
})cu");
  alignas(16) float x[8] = {};
  float y[1];
  EXPECT_TRUE(kernel.run(extents(1, 1), static_cast<const float*>(x), &y[0]).ok());
  const EmulatedOutcome outcome = kernel.run(extents(1, 1), static_cast<const float*>(x + 1), &y[0]);
  EXPECT_EQ(outcome.status, Status::misaligned);
  EXPECT_THAT(outcome.text, HasSubstr("16-byte load at address 0x"));
  EXPECT_THAT(outcome.text, HasSubstr("(vector.cuh:"));
}

TEST(Vector, a_misaligned_vector_store_is_reported) {
  const EmulatedKernel kernel(R"cu(
#include "device/vector.cuh"
template <class Config> __global__ void kernel(__half* y) {
  store_vector(y, Vector<__half, 2>{});
})cu");
  alignas(16) std::uint16_t y[8] = {};
  EXPECT_TRUE(kernel.run(extents(1, 1), y + 2).ok());
  const EmulatedOutcome outcome = kernel.run(extents(1, 1), y + 1);
  EXPECT_EQ(outcome.status, Status::misaligned);
  EXPECT_THAT(outcome.text, HasSubstr("4-byte store at address 0x"));
}

TEST(Vector, plain_accesses_are_checked_too) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(const char* x, float* y) {
  *y = reinterpret_cast<const float4*>(x)->z;
})cu");
  alignas(16) char x[64] = {};
  float y = 1;
  EXPECT_TRUE(kernel.run(extents(1, 1), static_cast<const char*>(x), &y).ok());
  const EmulatedOutcome outcome = kernel.run(extents(1, 1), static_cast<const char*>(x + 8), &y);
  EXPECT_EQ(outcome.status, Status::misaligned);
  EXPECT_THAT(outcome.text, HasSubstr("access that needs a multiple of 16 at address 0x"));
  EXPECT_THAT(outcome.text, HasSubstr("(kernel.generated.cu:"));
}

}  // namespace
}  // namespace tilewright::test
