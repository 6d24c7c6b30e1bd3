// SPDX-License-Identifier: Apache-2.0
//
// Row softmax by clusters whose threads keep their columns: device/row/kept.cuh.

#include "device/row/kept.cuh"
#include "softmax.cu"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::blocks)
    softmax_kept(long long rows, long long cols, const typename Config::dtype* x, typename Config::dtype* y,
                 long long x_pitch, long long y_pitch) {
  using namespace tilewright;
  row::Softmax<typename Config::dtype> op;
  op.tensors.inputs[0] = row::matrix<Config>(x, x_pitch, cols);
  op.tensors.outputs[0] = row::matrix<Config>(y, y_pitch, cols);
  row::kept<Config>(op, rows, cols);
}
