// SPDX-License-Identifier: Apache-2.0
//
// y[t] = table[index[t]]: rows of a table by their numbers. An index that is no row of the table gives a row of zeros.
//
//   table   vocab × d        index   tokens        y   tokens × d, not an input
//
// A thread has vectors of `tokens_per_thread` rows of y: it loads their indices first, then a vector of each row at
// once. sm_80 and later, no shared memory.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/vector.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    embedding_gather(long long tokens, long long vocab, long long d, const typename Config::dtype* table,
                     const long long* index, typename Config::dtype* y) {
  using namespace tilewright;
  using T = typename Config::dtype;
  constexpr int kVec = Config::vec, kAcross = Config::threads_per_row, kTokens = Config::tokens_per_thread;
  // With hints y leaves L2 first, so that the table's rows that come again are still there.
  constexpr Store kStore = Config::hints == 1 ? Store::kEvictFirst : Store::kDefault;
  constexpr Load kLoad = Config::hints == 1 ? Load::kEvictLast : Load::kDefault;
  constexpr int kDown = Config::num_warps * kWarpSize / kAcross;
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");
  static_assert(Config::num_warps * kWarpSize % kAcross == 0, "threads_per_row must divide the threads");
  const i64 width = Config::d ? Config::d : d;
  const int across = static_cast<int>(threadIdx.x) % kAcross, down = static_cast<int>(threadIdx.x) / kAcross;
  Vector<T, kVec> none;
#pragma unroll
  for (int j = 0; j < kVec; ++j) none[j] = from_float<T>(0.0f);

  // Gather tokens first, first + kDown, … of a block.
  for (i64 block = blockIdx.x; block * (kDown * kTokens) < tokens; block += gridDim.x) {
    const i64 first = block * (kDown * kTokens) + down;
    i64 rows[kTokens];
#pragma unroll
    for (int k = 0; k < kTokens; ++k) {
      rows[k] = -1;
      if (first + k * kDown < tokens) rows[k] = index[first + k * kDown];
      if (rows[k] >= vocab) rows[k] = -1;
    }
    for (i64 item = i64{blockIdx.y} * kAcross + across; item * kVec < width; item += i64{gridDim.y} * kAcross) {
      Packed<T, kVec> loaded[kTokens];
#pragma unroll
      for (int k = 0; k < kTokens; ++k) {
        loaded[k] = pack(none);
        if (rows[k] >= 0) loaded[k] = load_packed<kVec, kLoad>(table + rows[k] * width + item * kVec);
      }
#pragma unroll
      for (int k = 0; k < kTokens; ++k) {
        const i64 t = first + k * kDown;
        if (t < tokens) store_vector<kStore>(y + t * width + item * kVec, unpack(loaded[k]));
      }
    }
  }
}

template <class Config>
__global__ void embedding_reference(const typename Config::dtype* table, const long long* index, double* y,
                                    long long tokens, long long vocab, long long d) {
  using namespace tilewright;
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < tokens * d; i += stride) {
    const i64 row = index[i / d];
    y[i] = row >= 0 && row < vocab ? double{to_float(table[row * d + i % d])} : 0.0;
  }
}
