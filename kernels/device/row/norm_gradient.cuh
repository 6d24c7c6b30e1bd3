// SPDX-License-Identifier: Apache-2.0
#pragma once

// The gradient of the norms of device/row/norm.cuh: y = x̂ · weight + bias, x̂ = (x − mean) · rstd, without mean in an
// RMS norm. With g = dy · weight and n columns:
//
//   dx = rstd · (g − Σg / n − x̂ · Σ(g · x̂) / n) + dsum      without Σg in an RMS norm; with dsum if kAdd
//   dw = Σ over rows of dy · x̂        db = Σ over rows of dy
//
// Of the forward pass only x is read: a row's statistics are recomputed, with Σg and Σ(g · x̂), in one exchange. The
// variance is taken around a shift, near the mean of the row's first elements, against the cancellation in
// E[x²] − E[x]²: the nearer it is to the row's mean, the less is lost. Two ways, both in fp32:
//
//   rows     ring_rows.cuh: a group of threads of a block or a cluster per row
//   reread   a kernel for the values that a row's results share, and one with a thread per column; any width, address
//
// gradient_sums.cuh adds the blocks' sums. sm_80 and later, clusters sm_90.

#include "device/math.cuh"
#include "device/ptx/opaque.cuh"
#include "device/row/gradient_sums.cuh"
#include "device/row/reference_sums.cuh"
#include "device/row/ring_rows.cuh"
#include "device/row/statistics.cuh"

namespace tilewright::row {

// The values that a row's results share. With x̂ = (x − shift) · rstd + start
//
//   dx = g · rstd + x̂ · slope + rest                 of 32-bit elements dx = (g − across) · gain + x̂ · slope
//
// The shift is an element of T: of narrow ones x − shift is exact, and x̂ is rounded once.
struct alignas(16) NormGradientScale {
  float rstd;
  float shift;
  float start;
  float slope;
  float rest;
  float across;
  float gain;
};

// Inputs x, dy and, with kAdd, dsum; weight; output dx. kIsCentred: a layer norm, with db. An op of ring_rows.cuh.
template <class Element, bool kIsCentred, bool kHasAdd>
struct NormGradient {
  using T = Element;
  enum : bool { kCentred = kIsCentred, kAdd = kHasAdd };
  enum : int { kInputs = kHasAdd ? 3 : 2, kValues = kIsCentred ? 4 : 2, kSums = kIsCentred ? 2 : 1 };
  enum : int { kSquares, kProduct, kSum, kGradient };  // Σ (x − shift)², Σ g · (x − shift), Σ (x − shift), Σ g
  enum : bool { kWide = sizeof(Element) == 4 };
  // Rows of so few elements have a dx of 0, but for eps: all else would be what the rounding leaves.
  enum : int { kOnlyByEps = kIsCentred ? 2 : 1 };
  // Sums over rows whose terms have so many bits that they are worth two levels of sums: a narrow dy adds up
  // nearly exactly.
  enum : int { kLongSums = kWide ? kSums : 1 };

  RowTensors<T, kInputs, 1, 1> tensors;
  float eps;

  __device__ __forceinline__ void add(const float (&in)[kInputs], float weight, float shift,
                                      float (&values)[kValues]) const {
    const float g = in[1] * weight;
    const float off = kIsCentred ? in[0] - shift : in[0];
    values[kSquares] = fmaf(off, off, values[kSquares]);
    values[kProduct] = fmaf(g, off, values[kProduct]);
    if constexpr (kIsCentred) {
      values[kSum] += off;
      values[kGradient] += g;
    }
  }

  __device__ __forceinline__ NormGradientScale scale(const float (&values)[kValues], float shift, i64 width,
                                                     bool there = true) const {
    const float inverse = 1.0f / static_cast<float>(width);
    float off = 0.0f, across = 0.0f, variance = values[kSquares] * inverse, product = values[kProduct];
    if constexpr (kIsCentred) {
      // x − mean = (x − shift) − off.
      off = values[kSum] * inverse;
      variance = fmaf(-off, off, variance);
      if (variance < 0.0f) variance = 0.0f;  // fmaxf would make 0 of NaN, too
      product = fmaf(-off, values[kGradient], product);
      across = values[kGradient] * inverse;
    }
    // An estimate's error would be that of all of the row's terms of dw.
    const float rstd = there ? rsqrt_for<float>(variance + eps) : 0.0f;  // not ∞ without eps
    const bool only_by_eps = kWide && width <= kOnlyByEps;
    return {.rstd = rstd,
            .shift = shift,
            .start = -off * rstd,
            .slope = only_by_eps ? 0.0f : -rstd * rstd * (product * inverse),
            .rest = -rstd * across,
            .across = across,
            .gain = only_by_eps ? eps * rstd * rstd * rstd : rstd};
  }

  // dx of an element; `added` receives its terms of dw and db.
  __device__ __forceinline__ float result(const float (&in)[kInputs], float weight, const NormGradientScale& scale,
                                          float (&added)[kSums]) const {
    const float normal = kIsCentred ? fmaf(in[0] - scale.shift, scale.rstd, scale.start) : in[0] * scale.rstd;
    added[0] = in[1] * normal;
    if constexpr (kIsCentred) added[1] = in[1];
    float dx;
    if constexpr (kWide) {
      // g is rounded before the subtraction, as it was in the sum: an element alone leaves 0.
      const float g = __builtin_bit_cast(float, ptx::opaque(__builtin_bit_cast(int, in[1] * weight)));
      dx = fmaf(kIsCentred ? g - scale.across : g, scale.gain, normal * scale.slope);
    } else {
      dx = fmaf(in[1] * weight, scale.rstd, kIsCentred ? fmaf(normal, scale.slope, scale.rest) : normal * scale.slope);
    }
    if constexpr (kHasAdd) return dx + in[2];
    return dx;
  }
};

// reread, first kernel: a block per row. Shared memory: 2 · num_warps partials.
template <class Config, class Op>
__device__ __forceinline__ void norm_gradient_scales(const Op& op, NormGradientScale* scales, i64 rows, i64 cols) {
  using RowSums = Sums<Op::kValues>;
  using Partial = typename RowSums::Partial;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  int parity = 0;
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x, parity ^= 1) {
    const auto* const x = op.tensors.inputs[0].row(r);
    const auto* const dy = op.tensors.inputs[1].row(r);
    const float shift = Op::kCentred ? to_float(x[0]) : 0.0f;
    Partial mine{};
    for (i64 c = threadIdx.x; c < cols; c += kThreads) {
      float in[Op::kInputs] = {};
      in[0] = to_float(x[c]);
      in[1] = to_float(dy[c]);
      op.add(in, to_float(op.tensors.columns[0][c]), shift, mine.values);
    }
    Partial* const slots = shared_storage<Partial>() + parity * Config::num_warps;
    const Partial whole =
        merge_warps<RowSums, Config::num_warps>(RowSums::template over_lanes<kWarpSize>(mine), slots, warp);
    if (threadIdx.x == 0) scales[r] = op.scale(whole.values, shift, cols);
  }
}

// reread, second kernel: a thread per column, for the rows blockIdx.y, blockIdx.y + gridDim.y, …
template <class Config, class Op>
__device__ __forceinline__ void norm_gradient_columns(const Op& op, const NormGradientScale* scales,
                                                      const ColumnPartials& partials, i64 rows, i64 cols) {
  using T = typename Op::T;
  constexpr int kUnroll = 4;
  if (threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.y == 0) *partials.parts = gridDim.y;
  const i64 step = gridDim.y;
  for (i64 c = i64{blockIdx.x} * blockDim.x + threadIdx.x; c < cols; c += i64{gridDim.x} * blockDim.x) {
    const float weight = to_float(op.tensors.columns[0][c]);
    float sums[Op::kSums] = {};
    const auto add_row = [&](i64 r, const T(&in)[Op::kInputs]) {
      float element[Op::kInputs], added[Op::kSums];
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) element[input] = to_float(in[input]);
      op.tensors.outputs[0].row(r)[c] = from_float<T>(op.result(element, weight, scales[r], added));
#pragma unroll
      for (int s = 0; s < Op::kSums; ++s) sums[s] += added[s];
    };
    for (i64 r = blockIdx.y; r < rows; r += step * kUnroll) {
      T in[kUnroll][Op::kInputs];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (r + u * step >= rows) break;
#pragma unroll
        for (int input = 0; input < Op::kInputs; ++input) in[u][input] = op.tensors.inputs[input].row(r + u * step)[c];
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (r + u * step < rows) add_row(r + u * step, in[u]);
      }
    }
#pragma unroll
    for (int s = 0; s < Op::kSums; ++s) partials.row(s, blockIdx.y, step)[c] = sums[s];
  }
  let_column_sums_start();
}

// The reference, in fp64: a warp takes the rows 32 w to 32 w + 31, a lane the shared values of one row. `db` may be
// null.
template <class Op>
__device__ __forceinline__ void norm_gradient_reference(const Op& op, Matrix<double> dx, double* dw, double* db,
                                                        i64 rows, i64 cols) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = i64{gridDim.x} * (blockDim.x / kWarpSize);
  const i64 warp = i64{blockIdx.x} * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  const double n = static_cast<double>(cols);
  const auto x = [&](i64 r, i64 c) { return double{to_float(op.tensors.inputs[0].row(r)[c])}; };
  const auto dy = [&](i64 r, i64 c) { return double{to_float(op.tensors.inputs[1].row(r)[c])}; };
  const auto weight = [&](i64 c) { return double{to_float(op.tensors.columns[0][c])}; };
  for (i64 first = warp * kWarpSize; first < rows; first += warps * kWarpSize) {
    const int count = static_cast<int>(min(i64{kWarpSize}, rows - first));
    double rstd = 0.0, mean = 0.0, along = 0.0, across = 0.0;  // of row first + lane
    for (int i = 0; i < count; ++i) {
      double row_mean = 0.0, squares = 0.0, gradient = 0.0, product = 0.0;
      if constexpr (Op::kCentred) {
        for (i64 c = lane; c < cols; c += kWarpSize) row_mean += x(first + i, c);
        row_mean = reduce_lanes<kWarpSize>(row_mean, Sum{}) / n;
      }
      for (i64 c = lane; c < cols; c += kWarpSize) {
        const double centred = x(first + i, c) - row_mean, g = dy(first + i, c) * weight(c);
        squares += centred * centred;
        gradient += Op::kCentred ? g : 0.0;
        product += g * centred;
      }
      const double row_rstd = 1.0 / sqrt(reduce_lanes<kWarpSize>(squares, Sum{}) / n + double{op.eps});
      product = reduce_lanes<kWarpSize>(product, Sum{});
      gradient = reduce_lanes<kWarpSize>(gradient, Sum{});
      if (lane != i) continue;
      rstd = row_rstd;
      mean = row_mean;
      along = product * row_rstd / n;
      across = gradient / n;
    }
    __syncwarp();
    for (i64 c = lane; c - lane < cols; c += kWarpSize) {
      double weight_sum = 0.0, bias_sum = 0.0;
      for (int i = 0; i < count; ++i) {
        const double its_rstd = __shfl_sync(kFullMask, rstd, i), its_mean = __shfl_sync(kFullMask, mean, i);
        const double its_along = __shfl_sync(kFullMask, along, i), its_across = __shfl_sync(kFullMask, across, i);
        if (c >= cols) continue;
        const double normal = (x(first + i, c) - its_mean) * its_rstd, gradient = dy(first + i, c);
        double result = its_rstd * (gradient * weight(c) - its_across - normal * its_along);
        if constexpr (Op::kAdd) result += double{to_float(op.tensors.inputs[Op::kInputs - 1].row(first + i)[c])};
        dx.row(first + i)[c] = result;
        weight_sum += gradient * normal;
        bias_sum += gradient;
      }
      if (c >= cols) continue;
      add_to_sum(dw + c, weight_sum);
      if (db != nullptr) add_to_sum(db + c, bias_sum);
    }
  }
}

}  // namespace tilewright::row
