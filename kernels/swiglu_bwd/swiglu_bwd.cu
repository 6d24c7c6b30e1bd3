// SPDX-License-Identifier: Apache-2.0
//
// The gradient of swiglu, y = silu(gate) · up:
//
//   dgate[r][c] = dy[r][c] · up[r][c] · silu'(gate[r][c])        dup[r][c] = dy[r][c] · silu(gate[r][c])
//
//   layout=split    gate, up, dgate and dup are matrices; dgate may be gate itself, and dup up
//   layout=packed   gate_up and dgate_up [rows, 2 · cols] have both side by side: | gate … | up … |; they may be one
//   pitch=strided   rows start at pitches of their own
//
// By the skeleton device/elementwise/fields.cuh; any rows ≥ 1, any cols ≥ 1, any addresses. Computed in fp32, rounded
// once.

#include "device/activation_backward.cuh"
#include "device/elementwise/fields.cuh"

namespace swiglu_bwd {

struct Silu {
  static constexpr tilewright::Name act{"silu"};
};

template <class Element>
struct Gradient {
  using T = Element;
  enum : int { kInputs = 3, kOutputs = 2 };

  tilewright::row::RowTensors<T, kInputs, 0, kOutputs> tensors;  // gate, up, dy; dgate, dup

  __device__ __forceinline__ void results(const float (&in)[kInputs], float (&out)[kOutputs]) const {
    out[0] = in[2] * in[1] * tilewright::activation_slope<Silu, T>(in[0]);
    out[1] = in[2] * tilewright::silu<T>(in[0]);
  }
};

// The two matrices: in `both` if packed, else `first` and `second`.
template <class Config, class T>
struct Pair {
  tilewright::row::Matrix<T> first, second;

  __device__ __forceinline__ Pair(T* first_begin, T* second_begin, T* both, long long first_pitch,
                                  long long second_pitch, long long both_pitch, long long cols) {
    constexpr bool kStrided = Config::pitch == "strided";
    if constexpr (Config::layout == "packed") {
      const long long pitch = kStrided ? both_pitch : 2 * cols;
      first = {both, pitch};
      second = {both + cols, pitch};
    } else {
      first = {first_begin, kStrided ? first_pitch : cols};
      second = {second_begin, kStrided ? second_pitch : cols};
    }
  }
};

}  // namespace swiglu_bwd

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    swiglu_bwd_fields(long long rows, long long cols, const typename Config::dtype* gate,
                      const typename Config::dtype* up, const typename Config::dtype* gate_up,
                      const typename Config::dtype* dy, typename Config::dtype* dgate, typename Config::dtype* dup,
                      typename Config::dtype* dgate_up, long long gate_pitch, long long up_pitch,
                      long long gate_up_pitch, long long dy_pitch, long long dgate_pitch, long long dup_pitch,
                      long long dgate_up_pitch) {
  using namespace tilewright;
  using T = typename Config::dtype;
  const swiglu_bwd::Pair<Config, const T> in(gate, up, gate_up, gate_pitch, up_pitch, gate_up_pitch, cols);
  const swiglu_bwd::Pair<Config, T> out(dgate, dup, dgate_up, dgate_pitch, dup_pitch, dgate_up_pitch, cols);
  swiglu_bwd::Gradient<T> op;
  op.tensors.inputs[0] = in.first;
  op.tensors.inputs[1] = in.second;
  op.tensors.inputs[2] = row::matrix<Config>(dy, dy_pitch, cols);
  op.tensors.outputs[0] = out.first;
  op.tensors.outputs[1] = out.second;
  elementwise::fields<Config>(op, rows, cols);
}

template <class Config>
__global__ void swiglu_bwd_reference(const typename Config::dtype* gate, const typename Config::dtype* up,
                                     const typename Config::dtype* gate_up, const typename Config::dtype* dy,
                                     double* dgate, double* dup, double* dgate_up, long long gate_pitch,
                                     long long up_pitch, long long gate_up_pitch, long long dy_pitch,
                                     long long dgate_pitch, long long dup_pitch, long long dgate_up_pitch,
                                     long long rows, long long cols) {
  using namespace tilewright;
  using T = typename Config::dtype;
  const swiglu_bwd::Pair<Config, const T> in(gate, up, gate_up, gate_pitch, up_pitch, gate_up_pitch, cols);
  const swiglu_bwd::Pair<Config, double> out(dgate, dup, dgate_up, dgate_pitch, dup_pitch, dgate_up_pitch, cols);
  const auto gradients = row::matrix<Config>(dy, dy_pitch, cols);
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * cols; i += stride) {
    const i64 r = i / cols, c = i % cols;
    const double gate_value = to_float(in.first.row(r)[c]), gradient = to_float(gradients.row(r)[c]);
    const double slope = exact_activation_slope<swiglu_bwd::Silu>(gate_value);
    out.first.row(r)[c] = gradient * double{to_float(in.second.row(r)[c])} * slope;
    out.second.row(r)[c] = gradient * exact_silu(gate_value);
  }
}
