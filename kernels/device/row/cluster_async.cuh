// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of a row op with one cluster per row. Threads copy their vectors of the row to shared memory, then
// vectors of the tensors along the columns, such as weights. All copies are in flight at once and take no registers.
//
//   shared   | exchange of the warps, padded to 128 bytes | input 0: chunk 0, chunk 1 … | input 1 … | columns … |
//   chunk    v0 v1 v2 …   vi is the vector of thread i, which alone copies and reads it
//
//   thread t of the cluster   vectors t, t + n, t + 2 n, … for n threads in the cluster
//
//   Config   cluster, num_warps, vec (16 bytes), chunks, reload, blocks; static_dims with cols
//   reload   1: values are read again after the row's statistics; 0: they stay in registers until then
//
// Rows are whole vectors at aligned addresses. An output may be an input: a thread writes only elements that it alone
// has read. sm_90 and later.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/ptx/store_whole.cuh"
#include "device/row/evenly.cuh"
#include "device/row/statistics.cuh"
#include "device/row/tensors.cuh"
#include "device/row/warp_talk.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"

namespace tilewright::row {

template <class Config, class Op>
__device__ __forceinline__ void cluster_async(const Op& op, i64 cols) {
  using T = typename Op::T;
  using Statistics = typename Op::Statistics;
  constexpr int kVec = Config::vec, kChunks = Config::chunks, kCluster = Config::cluster, kHeld = kChunks * kVec;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  constexpr int kStride = kCluster * kThreads * kVec;  // from a thread's vector to its next one
  constexpr bool kReload = Config::reload != 0;
  using Talk = WarpTalk<Statistics, Config::num_warps, kCluster>;
  using Slot = Packed<T, kVec>;
  constexpr int kHeader = round_up<int>(static_cast<int>(sizeof(typename Talk::Storage)), 128);
  static_assert(kCluster > 1, "a row is a cluster's");
  static_assert(kVec * sizeof(T) == 16, "asynchronous copies move whole vectors of 16 bytes");

  const int width = static_cast<int>(Config::cols ? Config::cols : cols);
  const i64 row = blockIdx.x / u32{kCluster};
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int column = (rank * kThreads + static_cast<int>(threadIdx.x)) * kVec;
  // All chunks but the last are full.
  const auto has = [&](int chunk) { return chunk < kChunks - 1 || column + chunk * kStride < width; };
  const auto slot = [&](int tensor, int chunk) {
    return reinterpret_cast<Slot*>(shared_storage<u8>() + kHeader) + (tensor * kChunks + chunk) * kThreads +
           static_cast<int>(threadIdx.x);
  };

  // Copy the row, then the tensors along the columns.
#pragma unroll
  for (int input = 0; input < Op::kInputs; ++input) {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const T* const from = op.tensors.inputs[input].row(row) + column + chunk * kStride;
      if (has(chunk)) ptx::cp_async<16>(slot(input, chunk), from);
    }
  }
  ptx::cp_async_commit();
#pragma unroll
  for (int c = 0; c < Op::kColumns; ++c) {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      if (has(chunk)) ptx::cp_async<16>(slot(Op::kInputs + c, chunk), op.tensors.columns[c] + column + chunk * kStride);
    }
  }
  ptx::cp_async_commit();

  // Make the mbarriers known to the cluster.
  Talk talk(*shared_storage<typename Talk::Storage>());
  if (threadIdx.x == 0) {
    talk.init();
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  talk.prepare();

  // Compute the row's values and send the warp's partial.
  const auto read = [&](int chunk, auto& values, int at) {
    Slot vectors[Op::kInputs][1];
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) {
      vectors[input][0] = pad_of<Op, kVec>(input);
      if (has(chunk)) vectors[input][0] = *slot(input, chunk);
    }
    values_of(op, vectors, 0, values, at);
  };
  ptx::cp_async_wait<1>();
  float values[kHeld];
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) read(chunk, values, chunk * kVec);
  const int last = (kChunks - 1) * kStride + column - static_cast<int>(threadIdx.x) % kWarpSize * kVec;
  const int count = (kChunks - 1) * kWarpSize * kVec + min(max(width - last, 0), kWarpSize * kVec);
  const auto valid = valid_if<kVec, kHeld>([&](int k) { return has(k / kVec); });
  const auto own = EvenlyOf<Statistics>::template of_registers<kWarpSize>(values, valid, count);
  talk.send(own, 0);

  // Receive the row's partial and store the results.
  ptx::cp_async_wait<0>();
  const auto scale = op.template scale<!kReload>(own, talk.receive(0), width);
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    if (!has(chunk)) continue;
    float vector[kVec], along[at_least_one(Op::kColumns)][kVec], out[Op::kOutputs][kVec];
#pragma unroll
    for (int j = 0; j < kVec; ++j) vector[j] = values[chunk * kVec + j];
    if constexpr (kReload) read(chunk, vector, 0);
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) to_float(*slot(Op::kInputs + c, chunk), along[c]);
    op.template results<!kReload>(vector, scale, along, out);
#pragma unroll
    for (int o = 0; o < Op::kOutputs; ++o) {
      T* const to = op.tensors.outputs[o].row(row) + column + chunk * kStride;
      ptx::store_whole(reinterpret_cast<Word<kVec * sizeof(T)>*>(to), pack(from_float<T>(out[o])).words[0]);
    }
  }
}

}  // namespace tilewright::row
