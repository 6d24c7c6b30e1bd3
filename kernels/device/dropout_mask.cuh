// SPDX-License-Identifier: Apache-2.0
#pragma once

// The mask of device/dropout.cuh, bit for bit, for kernels that multiply their values by a factor anyway: multiply
// scale() into the factor; apply() only drops. Constants of all elements are computed once for many rows.

#include "device/config.cuh"
#include "device/philox.cuh"
#include "device/ptx/math.cuh"

namespace tilewright {

class DropoutMask {
 public:
  __device__ __forceinline__ DropoutMask(float p, u64 seed, u64 offset)
      : seed_(seed), offset_(offset), least_word_(least_word_of(p)), scale_(scale_of(p)) {}

  // 1 / (1 - p), or 0 if p = 1.
  __device__ __forceinline__ float scale() const { return scale_; }

  // Drops elements of a row's columns from `column` on, a multiple of 4.
  template <int N>
  __device__ __forceinline__ void apply(float (&values)[N], u64 row, u64 column) const {
    static_assert(N % 4 == 0, "whole groups of four share a counter");
#pragma unroll
    for (int j = 0; j < N; j += 4) {
      const PhiloxWords words = philox4x32_10({{static_cast<u32>(column / 4) + j / 4, static_cast<u32>(row),
                                                static_cast<u32>(offset_), static_cast<u32>(offset_ >> 32)}},
                                              seed_);
#pragma unroll
      for (int k = 0; k < 4; ++k) values[j + k] = words[k] >= least_word_ ? values[j + k] : 0.0f;
    }
  }

 private:
  // Compares integers: word >> 8 >= p · 2^24 if and only if word >= least · 2^8.
  __device__ static __forceinline__ u32 least_word_of(float p) {
    const u32 least = static_cast<u32>(__float2int_rz(ceilf(p * 0x1p24f)));
    return p < 1.0f ? least << 8 : ~0u;
  }
  // Correctly rounded by one Newton step.
  __device__ static __forceinline__ float scale_of(float p) {
    const float divisor = 1.0f - p;
    const float about = ptx::rcp_approx(divisor);
    return p < 1.0f ? fmaf(about, fmaf(-divisor, about, 1.0f), about) : 0.0f;
  }

  u64 seed_, offset_;
  u32 least_word_;
  float scale_;
};

}  // namespace tilewright
