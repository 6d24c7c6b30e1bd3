// SPDX-License-Identifier: Apache-2.0
#pragma once

// The block of skinny.cu for ops around a gemm, which supply the copies of b's tiles and the output of the sums.

#include "gemm/skinny.cu"

namespace tilewright::gemm {

// `copies.load(stage)` copies the next block of k, piece after piece; `rows_b` columns of sums are computed.
template <class Config, class Copies>
__device__ __forceinline__ void skinny_block(Copies& copies, const Output<Config>& output, float* partials,
                                             u32* counters, i64 rows_b, i64 k) {
  using G = SkinnyGeometry<Config>;
  auto& storage = *shared_storage<SkinnyStorage<Config>>();
  const int thread = static_cast<int>(threadIdx.x);
  const u32 blocks_k = static_cast<u32>(ceil_div(k, i64{G::kBlockK}));
  const u32 pieces = static_cast<u32>(ceil_div(rows_b, i64{G::kBlockN})) * G::kSplits;

  // Fill all stages but one.
#pragma unroll 1
  for (int stage = 0; stage < G::kStages - 1; ++stage) copies.load(storage.stages[stage]);

  typename G::Warp warp(thread);
  const SkinnyResults<Config> results(output, thread);
  int from = 0, to = G::kStages - 1;
#pragma unroll 1
  for (u32 number = blockIdx.x; number < pieces; number += gridDim.x) {
    const SkinnyPiece<Config> piece(number, blocks_k);
    results.prefetch(piece);
    warp.clear();
#pragma unroll 1
    for (u32 block = 0; block < piece.blocks.count; ++block) {
      // This stage is full, and all threads have read the previous one: refill that.
      ptx::cp_async_wait<G::kStages - 2>();
      __syncthreads();
      copies.load(storage.stages[to]);
      warp.multiply(storage.stages[from]);
      from = from + 1 == G::kStages ? 0 : from + 1;
      to = to + 1 == G::kStages ? 0 : to + 1;
    }
    // All threads have read `out`: a piece has at least one block of k, whose barrier came since.
    warp.put(storage.out);
    __syncthreads();
    results.finish(storage, piece, partials, counters);
  }
}

}  // namespace tilewright::gemm
