// SPDX-License-Identifier: Apache-2.0
//
// The gradient of a row softmax (softmax_bwd.cu has the arguments) of a row in the registers of a cluster, as `cluster`
// has it, but without a block barrier: each warp sends its sum to all others (device/row/warp_talk.cuh).

#include "device/row/warp_talk.cuh"
#include "softmax_bwd/softmax_bwd.cu"

namespace tilewright::row {

template <>
struct EvenlyOf<TermSum> : TermSum {
  __device__ static __forceinline__ Partial merged(const Partial& a, const Partial& b) { return {a.sum + b.sum}; }
};

// Config: num_warps, vec, chunks, cluster; static_dims with cols. Thread t of the cluster holds the row's vectors t, t
// + threads, … (`chunks` of them). Rows are whole vectors at vector-aligned addresses. Shared memory: a WarpTalk's.
template <class Config, class Op>
__device__ __forceinline__ void weighed_told(const Op& op, i64 cols) {
  constexpr int kVec = Config::vec, kCluster = Config::cluster, kChunks = Config::chunks;
  constexpr int kThreads = Config::num_warps * kWarpSize * kCluster;
  using Talk = WarpTalk<TermSum, Config::num_warps, kCluster>;
  static_assert(kVec * sizeof(typename Op::T) <= 16, "a vector has at most 16 bytes");
  static_assert(Op::kInputs * kChunks * kVec * sizeof(typename Op::T) <= 256, "more than a thread's registers hold");

  const i64 width = Config::cols ? Config::cols : cols;
  const i64 r = blockIdx.x / u32{kCluster};
  const int thread = static_cast<int>(ptx::cluster_rank()) * Config::num_warps * kWarpSize + threadIdx.x;

  // Issue all loads before the first use, and before the blocks of the cluster meet.
  const auto column_of = [&](int chunk) { return (i64{chunk} * kThreads + thread) * kVec; };
  InputVectors<Op, kVec> loaded[kChunks];
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    no_inputs<Op, kVec>(loaded[chunk]);
    if (column_of(chunk) < width) load_inputs<Op, kVec>(op, r, column_of(chunk), loaded[chunk]);
  }
  Talk talk(*shared_storage<typename Talk::Storage>());
  if (threadIdx.x == 0) {
    talk.init();
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  talk.prepare();

  // Sum the row's terms.
  float sums[2] = {};
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) add_terms<Op, kVec>(op, loaded[chunk], sums);
  talk.send(TermSum::over_lanes<kWarpSize>({sums[0] + sums[1]}), 0);
  const auto scale = op.scale(talk.receive(0).sum, width);

  // Store the results.
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    if (column_of(chunk) < width) store_results<Op, kVec>(op, loaded[chunk], scale, r, column_of(chunk));
  }
}

}  // namespace tilewright::row

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    softmax_bwd_told(long long, long long cols, const typename Config::dtype* y, const typename Config::dtype* dy,
                     typename Config::dtype* dx, long long y_pitch, long long dy_pitch, long long dx_pitch) {
  using namespace tilewright;
  row::SoftmaxGradient<typename Config::dtype> op;
  op.tensors.inputs[0] = row::matrix<Config>(y, y_pitch, cols);
  op.tensors.inputs[1] = row::matrix<Config>(dy, dy_pitch, cols);
  op.tensors.outputs[0] = row::matrix<Config>(dx, dx_pitch, cols);
  row::weighed_told<Config>(op, cols);
}
