// SPDX-License-Identifier: Apache-2.0
//
// The gradient of an embedding: dtable[v] = Σ over the tokens t with index[t] = v of dy[t], or a row of zeros if there
// is none. Tokens whose index is no row of the table are left out.
//
//   dy   tokens × d        index   tokens        dtable   vocab × d in fp32, the same bits on every launch
//
// A block has rows_per_block rows of dtable and some columns of them. Each of its warps goes through a part of the
// indices and lists the tokens of the block's rows in order; then each thread adds the gradients of a row's tokens one
// after the other, in registers. No sum depends on which block or warp came first. If a warp finds more tokens than it
// can list, the block goes through the indices again, by windows, and adds to dtable after each. sm_80 and later.
//
//   shared memory   num_warps · kOfWarp list entries of 8 bytes, then a count per warp

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"

namespace embedding_bwd {

using namespace tilewright;

// kOfWarp: tokens that a warp can list; kSteps: groups of 32 tokens that a warp searches at once.
inline constexpr int kOfWarp = 256, kSteps = 4;

// A list entry: a token and, in its lowest bits, the token's row among the block's.
inline constexpr int kRowBits = 8;

template <class Config>
struct Block {
  using T = typename Config::dtype;
  enum : int {
    kVec = Config::vec,
    kRows = Config::rows_per_block,
    kUnroll = Config::unroll,
    kWarps = Config::num_warps,
    kWindow = Config::num_warps * kSteps * kWarpSize,
  };
  static_assert(kRows <= 1 << kRowBits, "a row's number has 8 bits");
  static_assert(kWindow <= kWarps * kOfWarp / 2, "two windows are written down");

  const T* dy;
  const long long* index;
  float* dtable;
  i64 tokens, vocab, d, first_row, column;
  i64* listed;
  int* counts;  // per warp

  // Searches kSteps · 32 tokens from `first` on: calls `use(place, entry)` for each token of the block's rows, with
  // places counted from 0. Returns their number.
  template <class Use>
  __device__ __forceinline__ int find(i64 first, i64 end, const Use& use) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
    i64 row[kSteps];
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const i64 t = first + step * kWarpSize + lane;
      row[step] = -1;
      if (t < end) row[step] = index[t] - first_row;
    }
    int found = 0;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const bool hit = static_cast<u64>(row[step]) < kRows;
      const u32 hits = __ballot_sync(kFullMask, hit);
      if (hit) {
        use(found + __popc(hits & ((1u << lane) - 1)),
            (first + step * kWarpSize + lane) << kRowBits | static_cast<i64>(row[step]));
      }
      found += __popc(hits);
    }
    return found;
  }

  // Adds the gradients of `row` among `count` tokens.
  __device__ __forceinline__ void add(const i64* from, int count, int row, float (&sums)[kVec]) const {
    for (int first = 0; first < count; first += kUnroll) {
      Packed<T, kVec> loaded[kUnroll];
      bool is_its[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        is_its[u] = false;
        if (first + u >= count) continue;
        const i64 entry = from[first + u];
        is_its[u] = static_cast<int>(entry & ((1 << kRowBits) - 1)) == row;
        if (is_its[u]) loaded[u] = load_packed<kVec>(dy + (entry >> kRowBits) * d + column);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (!is_its[u]) continue;
        float values[kVec];
        to_float(loaded[u], values);
#pragma unroll
        for (int j = 0; j < kVec; ++j) sums[j] += values[j];
      }
    }
  }

  __device__ __forceinline__ void store(int row, const float (&sums)[kVec]) const {
    Vector<float, kVec> values;
#pragma unroll
    for (int j = 0; j < kVec; ++j) values[j] = sums[j];
    store_vector(dtable + (first_row + row) * d + column, values);
  }

  __device__ __forceinline__ bool has(int row) const { return column < d && first_row + row < vocab; }

  // Lists the tokens; each warp lists one part. Returns whether all lists had room.
  __device__ __forceinline__ bool list_all() const {
    const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
    const i64 part = round_up<i64>(ceil_div<i64>(tokens, kWarps), kSteps * kWarpSize);
    const i64 end = min((warp + 1) * part, tokens);
    int count = 0;
    for (i64 first = warp * part; first < end; first += kSteps * kWarpSize) {
      count += find(first, end, [&](int place, i64 entry) {
        if (count + place < kOfWarp) listed[warp * kOfWarp + count + place] = entry;
      });
    }
    if (threadIdx.x % kWarpSize == 0) counts[warp] = count;
    __syncthreads();
    bool all = true;
    for (int w = 0; w < kWarps; ++w) all = all && counts[w] <= kOfWarp;
    return all;
  }

  // Adds window by window; in each a warp has kSteps · 32 tokens.
  __device__ __forceinline__ void by_windows() const {
    const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
    int count = 0;
    bool is_first = true;
    for (i64 window = 0; window < tokens; window += kWindow) {
      __syncthreads();
      const i64 first = window + warp * (kSteps * kWarpSize);
      const int found = find(first, tokens, [](int, i64) {});
      if (threadIdx.x % kWarpSize == 0) counts[warp] = found;
      __syncthreads();
      int place_of_warp = count;
      for (int w = 0; w < kWarps; ++w) {
        place_of_warp += w < warp ? counts[w] : 0;
        count += counts[w];
      }
      find(first, tokens, [&](int place, i64 entry) { listed[place_of_warp + place] = entry; });
      __syncthreads();
      if (count <= kWindow && window + kWindow < tokens) continue;
      for (int row = 0; row < kRows && has(row); ++row) {
        float sums[kVec] = {};
        if (!is_first) {
          const float* const before = dtable + (first_row + row) * d + column;
#pragma unroll
          for (int j = 0; j < kVec; ++j) sums[j] = before[j];
        }
        add(listed, count, row, sums);
        store(row, sums);
      }
      is_first = false;
      count = 0;
    }
  }

  __device__ __forceinline__ void run() const {
    if (list_all()) {
      for (int row = 0; row < kRows && has(row); ++row) {
        float sums[kVec] = {};
        for (int w = 0; w < kWarps; ++w) add(listed + w * kOfWarp, counts[w], row, sums);
        store(row, sums);
      }
    } else {
      by_windows();
    }
    __syncthreads();
  }
};

}  // namespace embedding_bwd

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    embedding_bwd_rows(long long tokens, long long vocab, long long d, const typename Config::dtype* dy,
                       const long long* index, float* dtable) {
  using namespace tilewright;
  constexpr int kWide = Config::num_warps * kWarpSize * Config::vec;
  auto* const listed = shared_storage<i64>();
  auto* const counts = reinterpret_cast<int*>(listed + Config::num_warps * embedding_bwd::kOfWarp);
  for (i64 row = i64{blockIdx.x} * Config::rows_per_block; row < vocab;
       row += i64{gridDim.x} * Config::rows_per_block) {
    for (i64 column = i64{blockIdx.y} * kWide; column < d; column += i64{gridDim.y} * kWide) {
      const embedding_bwd::Block<Config> block{
          dy, index, dtable, tokens, vocab, d, row, column + i64{threadIdx.x} * Config::vec, listed, counts};
      block.run();
    }
  }
}

// The reference: a warp per row of dtable.
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
