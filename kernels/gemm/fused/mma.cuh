// SPDX-License-Identifier: Apache-2.0
#pragma once

// The block of mma.cu for ops around a gemm, which supply the copies of b's tiles and the output of the sums.

#include "gemm/mma.cu"

namespace tilewright::gemm {

// The fewest neighbouring sums of a lane that make elements of the results.
template <class Config>
inline constexpr int kLeastSums = 1;

// Copies b as it is.
template <class Config>
struct PlainMmaCopy {
  using G = MmaGeometry<Config>;
  using Copy = MmaCopy<typename G::TileB, typename G::OperandB, Config::vec, G::kThreads>;

  typename G::OperandB b;

  __device__ __forceinline__ Copy at(i64 column, u32 block, int thread) const { return Copy(b, column, block, thread); }
};

// Computes `rows_b` columns of sums, which `output` turns into results. `from_b` gives the copies of b.
template <class Config, class FromB>
__device__ __forceinline__ void mma_block(const typename Config::dtype* a, const FromB& from_b,
                                          const Output<Config>& output, float* partial, u32* counters, i64 m,
                                          i64 rows_b, i64 k) {
  using G = MmaGeometry<Config>;
  auto& storage = *shared_storage<typename G::Storage>();
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarpSize;
  const MmaPlace<Config> place(m, rows_b, blockIdx.x);
  const SplitRange range = split_range<Config::split_k>(static_cast<u32>(ceil_div(k, i64{G::kBlockK})), place.split);

  using CopyA = MmaCopy<typename G::TileA, typename G::OperandA, Config::vec, G::kThreads>;
  MmaWarp<Config> part;
  part.row = warp / G::kWarpsN * G::kWarpM;
  part.column = warp % G::kWarpsN * G::kWarpN;
  part.lane = thread % kWarpSize;
  part.compute(storage, CopyA({a, m, k}, place.row, range.first, thread), from_b.at(place.column, range.first, thread),
               range.count);

  // Compute the place again: kept, it would take registers from the loop above.
  const MmaPlace<Config> again(m, rows_b, static_cast<u32>(ptx::opaque(static_cast<int>(blockIdx.x))));
  if (!Split<Config::split_k, G::kThreads>::sum_up(part.sums, partial, counters, again.tile, again.split, thread,
                                                   &storage.word, [] { __syncthreads(); })) {
    return;
  }
  if (output.template allows<4>()) {
    part.template store<4>(output, storage.out[warp], again.row, again.column);
  } else {
    part.template store<kLeastSums<Config>>(output, storage.out[warp], again.row, again.column);
  }
}

}  // namespace tilewright::gemm
