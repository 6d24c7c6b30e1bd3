// SPDX-License-Identifier: Apache-2.0
//
// y[r][c] = silu(gate[r][c]) · up[r][c]; any rows ≥ 1, any cols ≥ 1, any addresses. Computed in fp32, rounded once.
//
//   layout=split    gate and up are two matrices; y may be gate itself
//   layout=packed   one matrix [rows, 2 · cols] has both side by side: | gate … | up … |
//   pitch=strided   rows start gate_pitch, up_pitch or gate_up_pitch, and y_pitch elements apart
//
//   flat    treats dense split matrices as vectors of rows · cols elements
//   dense   treats y of a dense packed matrix as one row
//   tiled   any layout and pitch
//
// Shared memory: none. sm_80 and later.

#include "device/activation.cuh"
#include "device/convert.cuh"
#include "device/elementwise/dense.cuh"
#include "device/elementwise/flat.cuh"
#include "device/elementwise/tiled.cuh"

namespace swiglu {

template <class T>
struct Function {
  template <int N>
  __device__ static __forceinline__ void gated(float (&gate)[N], const float (&up)[N]) {
#pragma unroll
    for (int j = 0; j < N; ++j) gate[j] = tilewright::silu<T>(gate[j]) * up[j];
  }
  template <int kMultiple, int N>
  __device__ __forceinline__ void apply(float (&values)[2][N], long long) const {
    gated(values[0], values[1]);
  }
  template <int kMultiple, int N>
  __device__ __forceinline__ void apply(float (&gate)[N], const float (&up)[N], long long, long long) const {
    gated(gate, up);
  }
};

// The two matrices: in `gate_up` if packed, else `gate` and `up`.
template <class Config, class Matrix = tilewright::elementwise::Rows<const typename Config::dtype>>
struct Inputs {
  Matrix gate, up;

  __device__ __forceinline__ Inputs(const typename Config::dtype* gate_begin, const typename Config::dtype* up_begin,
                                    const typename Config::dtype* gate_up, long long gate_pitch, long long up_pitch,
                                    long long gate_up_pitch, long long cols) {
    constexpr bool kStrided = Config::pitch == "strided";
    if constexpr (Config::layout == "packed") {
      const long long pitch = kStrided ? gate_up_pitch : 2 * cols;
      gate = {gate_up, pitch};
      up = {gate_up + cols, pitch};
    } else {
      gate = {gate_begin, kStrided ? gate_pitch : cols};
      up = {up_begin, kStrided ? up_pitch : cols};
    }
  }
};

}  // namespace swiglu

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    swiglu_flat(const typename Config::dtype* gate, const typename Config::dtype* up, typename Config::dtype* y,
                long long rows, long long cols) {
  tilewright::elementwise::flat<Config>(gate, up, y, rows * cols, swiglu::Function<typename Config::dtype>{});
}

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    swiglu_dense(const typename Config::dtype* gate_up, typename Config::dtype* y, long long rows, long long cols,
                 long long across_inverse) {
  using namespace tilewright::elementwise;
  using T = typename Config::dtype;
  using Half = SideBySide<T, 2>;
  const T* const up = gate_up + (Config::cols ? Config::cols : cols);
  dense<Config>(Half{gate_up}, Half{up}, y, rows, cols, across_inverse, swiglu::Function<T>{});
}

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    swiglu_tiled(long long rows, long long cols, const typename Config::dtype* gate, const typename Config::dtype* up,
                 const typename Config::dtype* gate_up, typename Config::dtype* y, long long gate_pitch,
                 long long up_pitch, long long gate_up_pitch, long long y_pitch) {
  using T = typename Config::dtype;
  const swiglu::Inputs<Config> in(gate, up, gate_up, gate_pitch, up_pitch, gate_up_pitch, cols);
  tilewright::elementwise::tiled<Config, T>(in.gate, in.up, {y, Config::pitch == "strided" ? y_pitch : cols}, rows,
                                            cols, swiglu::Function<T>{});
}

template <class Config>
__global__ void swiglu_reference(const typename Config::dtype* gate, const typename Config::dtype* up,
                                 const typename Config::dtype* gate_up, double* y, long long gate_pitch,
                                 long long up_pitch, long long gate_up_pitch, long long y_pitch, long long rows,
                                 long long cols) {
  using namespace tilewright;
  const swiglu::Inputs<Config> in(gate, up, gate_up, gate_pitch, up_pitch, gate_up_pitch, cols);
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * cols; i += stride) {
    const i64 r = i / cols, c = i % cols;
    y[r * (Config::pitch == "strided" ? y_pitch : cols) + c] =
        exact_silu(to_float(in.gate.row(r)[c])) * double{to_float(in.up.row(r)[c])};
  }
}
