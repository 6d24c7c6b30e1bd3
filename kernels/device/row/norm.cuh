// SPDX-License-Identifier: Apache-2.0
#pragma once

// Norms of a row and the operations fused to them, in fp32, rounded once:
//
//   v = x                 or x + residual
//   y = v · rstd · weight                        rstd = 1 / sqrt(mean(v²) + eps)            with MeanSquare
//   y = (v − mean(v)) · rstd · weight + bias     rstd = 1 / sqrt(variance(v) + eps)         with Moments
//   y = silu(y)           if NormParts::silu
//   sum = v               if NormParts::sum
//
// B. Zhang and R. Sennrich, "Root Mean Square Layer Normalization" (2019); J. L. Ba et al., "Layer Normalization"
// (2016).

#include "device/activation.cuh"
#include "device/config.cuh"
#include "device/math.cuh"
#include "device/row/mean_square.cuh"
#include "device/row/moments.cuh"
#include "device/row/tensors.cuh"

namespace tilewright::row {

// The parts of a norm beyond x, weight and y.
struct NormParts {
  bool residual = false;
  bool bias = false;
  bool sum = false;
  bool silu = false;
};

// A row op (tensors.cuh). Inputs: x, residual; along the columns: weight, bias; outputs: y, sum.
template <class Element, class RowStatistics, NormParts kParts>
struct Norm {
  using T = Element;
  using Statistics = RowStatistics;
  using Partial = typename Statistics::Partial;
  enum : int {
    kInputs = kParts.residual ? 2 : 1,
    kColumns = kParts.bias ? 2 : 1,
    kOutputs = kParts.sum ? 2 : 1,
  };
  struct Scale {
    float mean;
    float rstd;
    float shift;  // −mean · rstd
  };

  RowTensors<T, kInputs, kColumns, kOutputs> tensors;
  float eps;

  __device__ static __forceinline__ float pad() { return 0.0f; }

  __device__ __forceinline__ float value(const float (&in)[kInputs]) const {
    if constexpr (kParts.residual) {
      return in[0] + in[1];
    } else {
      return in[0];
    }
  }

  template <bool kHeld>
  __device__ __forceinline__ Scale scale(const Partial&, const Partial& whole, i64 width) const {
    const float count = static_cast<float>(width);
    if constexpr (is_same<Statistics, Moments>) {
      const float rstd = rsqrt_for<T>(divide_for<T>(whole.squares, count) + eps);
      return {whole.mean, rstd, -whole.mean * rstd};
    } else {
      return {0.0f, rsqrt_for<T>(divide_for<T>(whole.sum, count) + eps), 0.0f};
    }
  }

  template <bool kHeld, int kCount>
  __device__ __forceinline__ void results(const float (&values)[kCount], const Scale& scale,
                                          const float (&along)[kColumns][kCount],
                                          float (&out)[kOutputs][kCount]) const {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      float y = normalized(values[k], scale);
      if constexpr (kParts.bias) {
        y = fmaf(y, along[0][k], along[1][k]);
      } else {
        y *= along[0][k];
      }
      if constexpr (kParts.silu) y = silu<T>(y);
      out[0][k] = y;
      if constexpr (kParts.sum) out[1][k] = values[k];
    }
  }

 private:
  // (v − mean) · rstd. For 16-bit values the rounding of the shift, 2⁻²⁴ |mean| · rstd, is negligible.
  __device__ static __forceinline__ float normalized(float value, const Scale& scale) {
    if constexpr (!is_same<Statistics, Moments>) {
      return value * scale.rstd;
    } else if constexpr (sizeof(T) == 2) {
      return fmaf(value, scale.rstd, scale.shift);
    } else {
      return (value - scale.mean) * scale.rstd;
    }
  }
};

// The reference, in fp64: a warp per row. Absent tensors are null.
template <class Statistics, bool kSilu, class T>
__device__ __forceinline__ void norm_reference(Matrix<const T> x, Matrix<const T> residual, const T* weight,
                                               const T* bias, Matrix<double> y, Matrix<double> sum, double eps,
                                               i64 rows, i64 cols) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = i64{gridDim.x} * (blockDim.x / kWarpSize);
  const i64 warp = i64{blockIdx.x} * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  for (i64 r = warp; r < rows; r += warps) {
    const auto value = [&](i64 c) {
      const double added = residual.base != nullptr ? double{to_float(residual.row(r)[c])} : 0.0;
      return double{to_float(x.row(r)[c])} + added;
    };
    double mean = 0.0;
    if constexpr (is_same<Statistics, Moments>) {
      for (i64 c = lane; c < cols; c += kWarpSize) mean += value(c);
      mean = reduce_lanes<kWarpSize>(mean, Sum{}) / static_cast<double>(cols);
    }
    double squares = 0.0;
    for (i64 c = lane; c < cols; c += kWarpSize) squares += (value(c) - mean) * (value(c) - mean);
    squares = reduce_lanes<kWarpSize>(squares, Sum{});
    const double rstd = 1.0 / sqrt(squares / static_cast<double>(cols) + eps);
    for (i64 c = lane; c < cols; c += kWarpSize) {
      double result = (value(c) - mean) * rstd * double{to_float(weight[c])};
      if (bias != nullptr) result += double{to_float(bias[c])};
      if constexpr (kSilu) result = result / (1.0 + exp(-result));
      if (sum.base != nullptr) sum.row(r)[c] = value(c);
      y.row(r)[c] = result;
    }
  }
}

}  // namespace tilewright::row
