// SPDX-License-Identifier: Apache-2.0
//
// y[t] = table[index[t]] (embedding.cu) for a table with repeated rows that does not fit in L2: by slices of columns,
// one after the other. A slice of all rows stays in L2, where a row's second token finds it. Blocks are in the order of
// slices; each has tokens of one.
//
// A thread has a vector of `tokens_per_thread` rows of y: it loads their indices first, then a vector of each row at
// once. sm_80 and later, no shared memory.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/vector.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    embedding_slices(long long tokens, long long vocab, long long d, const typename Config::dtype* table,
                     const long long* index, typename Config::dtype* y) {
  using namespace tilewright;
  using T = typename Config::dtype;
  constexpr int kVec = Config::vec, kAcross = Config::threads_per_row, kTokens = Config::tokens_per_thread;
  constexpr int kDown = Config::num_warps * kWarpSize / kAcross;
  constexpr Store kStore = Config::hints == 1 ? Store::kEvictFirst : Store::kDefault;
  constexpr Load kLoad = Config::hints == 1 ? Load::kEvictLast : Load::kDefault;
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");
  static_assert(Config::num_warps * kWarpSize % kAcross == 0, "threads_per_row must divide the threads");
  const int across = static_cast<int>(threadIdx.x) % kAcross, down = static_cast<int>(threadIdx.x) / kAcross;
  const i64 slices = (d + kAcross * kVec - 1) / (kAcross * kVec);
  const i64 blocks = (tokens + kDown * kTokens - 1) / (kDown * kTokens);
  Vector<T, kVec> none;
#pragma unroll
  for (int j = 0; j < kVec; ++j) none[j] = from_float<T>(0.0f);

  for (i64 block = blockIdx.x; block < blocks * slices; block += gridDim.x) {
    const i64 slice = block / blocks;
    const i64 column = (slice * kAcross + across) * kVec;
    const i64 first = (block - slice * blocks) * (kDown * kTokens) + down;
    if (column >= d) continue;
    i64 rows[kTokens];
#pragma unroll
    for (int k = 0; k < kTokens; ++k) {
      rows[k] = -1;
      if (first + k * kDown < tokens) rows[k] = index[first + k * kDown];
      if (rows[k] >= vocab) rows[k] = -1;
    }
    Packed<T, kVec> loaded[kTokens];
#pragma unroll
    for (int k = 0; k < kTokens; ++k) {
      loaded[k] = pack(none);
      if (rows[k] >= 0) loaded[k] = load_packed<kVec, kLoad>(table + rows[k] * d + column);
    }
#pragma unroll
    for (int k = 0; k < kTokens; ++k) {
      const i64 t = first + k * kDown;
      if (t < tokens) store_vector<kStore>(y + t * d + column, unpack(loaded[k]));
    }
  }
}
