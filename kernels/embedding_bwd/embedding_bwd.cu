// SPDX-License-Identifier: Apache-2.0
//
// The gradient of an embedding: dtable[v] = Σ over the tokens t with index[t] = v of dy[t], a row of zeros where there is
// none. Tokens whose index is no row of the table are left out.
//
//   dy   tokens × d        index   tokens        dtable   vocab × d in fp32, the same bits on every launch
//
// A block has rows_per_block rows of dtable and some columns of them. It goes through all indices, in windows of
// num_warps × 256, writes down the tokens of its rows in their order, and adds these one after the other to sums in shared
// memory, in which each thread has columns of its own. No sum depends on which block came first. sm_80 and later.
//
//   shared memory   sums [rows_per_block][threads × vec], then kListed tokens and their rows, then a count a warp

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"

namespace embedding_bwd {

using namespace tilewright;

// Tokens that are written down before they are added: two windows of the largest block.
template <class Config>
inline constexpr int kWindow = Config::num_warps * 256;
template <class Config>
inline constexpr int kListed = 2 * kWindow<Config>;

struct Listed {
  long long token;
  long long row;
};

template <class Config>
__device__ __forceinline__ void rows(const typename Config::dtype* dy, const long long* index, float* dtable,
                                     i64 tokens, i64 vocab, i64 d, i64 first_row, i64 first_column) {
  using T = typename Config::dtype;
  constexpr int kVec = Config::vec, kRows = Config::rows_per_block, kUnroll = Config::unroll;
  constexpr int kThreads = Config::num_warps * kWarpSize, kSteps = 8;
  float* const sums = shared_storage<float>();
  auto* const listed = reinterpret_cast<Listed*>(sums + kRows * kThreads * kVec);
  int* const counts = reinterpret_cast<int*>(listed + kListed<Config>);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarpSize, lane = thread % kWarpSize;
  const i64 column = first_column + i64{thread} * kVec;
  // Column by column of the threads, so that a warp's accesses are neighbours.
  const auto sum_at = [&](i64 row, int j) -> float& { return sums[(row * kVec + j) * kThreads + thread]; };
  for (int i = 0; i < kRows * kVec; ++i) sums[i * kThreads + thread] = 0.0f;

  // Adds what is listed, `unroll` tokens under way at once.
  const auto add_listed = [&](int count) {
    if (column >= d) return;
    for (int first = 0; first < count; first += kUnroll) {
      Packed<T, kVec> loaded[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (first + u < count) loaded[u] = load_packed<kVec>(dy + listed[first + u].token * d + column);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (first + u >= count) break;
        float values[kVec];
        to_float(loaded[u], values);
#pragma unroll
        for (int j = 0; j < kVec; ++j) sum_at(listed[first + u].row, j) += values[j];
      }
    }
  };

  int count = 0;
  for (i64 window = 0; window < tokens; window += kWindow<Config>) {
    // Of the warp's 256 tokens, those of the block's rows.
    const i64 warp_first = window + warp * (kSteps * kWarpSize);
    i64 its_row[kSteps];
    u32 hits[kSteps];
    int in_warp = 0;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const i64 t = warp_first + step * kWarpSize + lane;
      its_row[step] = -1;
      if (t < tokens) its_row[step] = index[t] - first_row;
    }
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      hits[step] = __ballot_sync(kFullMask, static_cast<u64>(its_row[step]) < kRows);
      in_warp += __popc(hits[step]);
    }
    if (lane == 0) counts[warp] = in_warp;
    __syncthreads();
    int before = 0, in_block = 0;
#pragma unroll
    for (int w = 0; w < Config::num_warps; ++w) {
      before += w < warp ? counts[w] : 0;
      in_block += counts[w];
    }
    int place = count + before;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const bool hit = (hits[step] >> lane & 1) != 0;
      if (hit) {
        listed[place + __popc(hits[step] & ((1u << lane) - 1))] = {warp_first + step * kWarpSize + lane, its_row[step]};
      }
      place += __popc(hits[step]);
    }
    count += in_block;
    __syncthreads();
    // The next window may fill as much as a window.
    if (count > kListed<Config> - kWindow<Config>) {
      add_listed(count);
      count = 0;
      __syncthreads();
    }
  }
  add_listed(count);
  if (column < d) {
    for (int row = 0; row < kRows && first_row + row < vocab; ++row) {
      float* const out = dtable + (first_row + row) * d + column;
      Vector<float, kVec> values;
#pragma unroll
      for (int j = 0; j < kVec; ++j) values[j] = sum_at(row, j);
      store_vector(out, values);
    }
  }
  __syncthreads();
}

}  // namespace embedding_bwd

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    embedding_bwd_rows(long long tokens, long long vocab, long long d, const typename Config::dtype* dy,
                       const long long* index, float* dtable) {
  using namespace tilewright;
  constexpr int kWide = Config::num_warps * kWarpSize * Config::vec;
  for (i64 row = i64{blockIdx.x} * Config::rows_per_block; row < vocab;
       row += i64{gridDim.x} * Config::rows_per_block) {
    for (i64 column = i64{blockIdx.y} * kWide; column < d; column += i64{gridDim.y} * kWide) {
      embedding_bwd::rows<Config>(dy, index, dtable, tokens, vocab, d, row, column);
    }
  }
}

// What is right: a warp has a row of dtable.
template <class Config>
__global__ void embedding_bwd_reference(const typename Config::dtype* dy, const long long* index, double* dtable,
                                        long long tokens, long long vocab, long long d) {
  using namespace tilewright;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = i64{gridDim.x} * (blockDim.x / kWarpSize);
  const i64 warp = i64{blockIdx.x} * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  for (i64 v = warp; v < vocab; v += warps) {
    for (i64 c = lane; c < d; c += kWarpSize) dtable[v * d + c] = 0.0;
    for (i64 first = 0; first < tokens; first += kWarpSize) {
      u32 hits = __ballot_sync(kFullMask, first + lane < tokens && index[first + lane] == v);
      for (; hits != 0; hits &= hits - 1) {
        const i64 t = first + __ffs(static_cast<int>(hits)) - 1;
        for (i64 c = lane; c < d; c += kWarpSize) dtable[v * d + c] += double{to_float(dy[t * d + c])};
      }
    }
  }
}
