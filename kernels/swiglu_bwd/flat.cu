// SPDX-License-Identifier: Apache-2.0
//
// The gradient of swiglu (swiglu_bwd.cu has the arguments) for layout=split, pitch=dense: a whole matrix is one row, so
// a block's vectors are contiguous whatever the width. For outputs of 16 bits silu and its slope share their terms.

#include "device/ptx/math.cuh"
#include "swiglu_bwd/swiglu_bwd.cu"

namespace swiglu_bwd {

template <class Element>
struct SharingGradient : Gradient<Element> {
  using Gradient<Element>::kInputs;
  using Gradient<Element>::kOutputs;

  __device__ __forceinline__ void results(const float (&in)[kInputs], float (&out)[kOutputs]) const {
    using namespace tilewright;
    if constexpr (is_same<Element, float>) {
      Gradient<Element>::results(in, out);
    } else {
      // Within ±kEnd e^-x is finite, and e^-x / (1 + e^-x) as exact as 1 / (1 + e^-x); beyond, both are at their
      // limits.
      constexpr float kEnd = 86.0f, kLog2E = 1.4426950408889634f;
      const float above = ptx::max_nan(in[0], -kEnd);
      const float x = -ptx::max_nan(-above, -kEnd);
      const float small = ptx::ex2_approx(-kLog2E * x);
      const float s = ptx::rcp_approx(1.0f + small);
      const float gradient = in[2] * s;
      out[0] = gradient * in[1] * fmaf(x, small * s, 1.0f);
      out[1] = gradient * above;
    }
  }
};

}  // namespace swiglu_bwd

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    swiglu_bwd_flat(long long rows, long long cols, const typename Config::dtype* gate,
                    const typename Config::dtype* up, const typename Config::dtype*, const typename Config::dtype* dy,
                    typename Config::dtype* dgate, typename Config::dtype* dup, typename Config::dtype*, long long,
                    long long, long long, long long, long long, long long, long long) {
  using namespace tilewright;
  static_assert(Config::layout == "split" && Config::pitch == "dense", "matrices without gaps");
  static_assert(Config::threads_per_row == Config::num_warps * kWarpSize, "a block has one row");
  swiglu_bwd::SharingGradient<typename Config::dtype> op;
  op.tensors.inputs[0] = {gate, 0};
  op.tensors.inputs[1] = {up, 0};
  op.tensors.inputs[2] = {dy, 0};
  op.tensors.outputs[0] = {dgate, 0};
  op.tensors.outputs[1] = {dup, 0};
  elementwise::fields<Config>(op, 1, rows * cols);
}
