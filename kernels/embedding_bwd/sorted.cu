// SPDX-License-Identifier: Apache-2.0
//
// The gradient of an embedding (embedding_bwd.cu has the arguments and the order of additions) in two kernels:
//
//   sort   a block has kPart tokens, and sorts them by their row of dtable; tokens without a row come last
//   sums   a block has rows_per_block neighbouring rows of dtable, a bucket, and some columns of them: in each part the
//          bucket's tokens are contiguous
//
//   sorted   parts × kPart: the row within its bucket, the token within its part; by row, then by token
//   starts   parts × (buckets + 1): where each bucket begins in the part
//
// A block of the second kernel gathers the tokens of some parts by row, in their order, and adds their gradients one
// after the other in registers: all of a bucket's if it has at most kPart tokens, else it continues from dtable. So no
// sum depends on which block came first. sm_80 and later; from sm_90 on the second kernel may start before the first
// has ended.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"

namespace embedding_bwd {

using namespace tilewright;

inline constexpr int kPart = 1024, kSortThreads = 512, kTokenBits = 16;

__device__ __forceinline__ i64 parts_of(i64 tokens) { return ceil_div<i64>(tokens, kPart); }

// Shared memory: kPart keys of 8 bytes.
template <int kRows>
__device__ __forceinline__ void sort_parts(const long long* index, u32* sorted, u32* starts, i64 tokens, i64 vocab) {
  u64* const keys = shared_storage<u64>();
  const i64 buckets = ceil_div<i64>(vocab, kRows);
  const int thread = static_cast<int>(threadIdx.x);
  for (i64 part = blockIdx.x; part < parts_of(tokens); part += gridDim.x) {
    for (int i = thread; i < kPart; i += kSortThreads) {
      const i64 t = part * kPart + i, row = t < tokens ? index[t] : -1;
      const u64 place = row >= 0 && row < vocab ? static_cast<u64>(row) : ~u64{0} >> kTokenBits;
      keys[i] = place << kTokenBits | static_cast<u64>(i);
    }
    // Bitonic sort: runs of `size` are sorted up and down in turn.
    for (int size = 2; size <= kPart; size *= 2) {
      for (int stride = size / 2; stride > 0; stride /= 2) {
        __syncthreads();
        const int low = 2 * thread - (thread & (stride - 1)), high = low + stride;
        const u64 a = keys[low], b = keys[high];
        if ((a > b) == ((low & size) == 0)) {
          keys[low] = b;
          keys[high] = a;
        }
      }
    }
    __syncthreads();
    for (int i = thread; i < kPart; i += kSortThreads) {
      const u32 row = static_cast<u32>((keys[i] >> kTokenBits) % kRows);
      sorted[part * kPart + i] = row << kTokenBits | static_cast<u32>(keys[i] & ((1 << kTokenBits) - 1));
    }
    for (i64 bucket = thread; bucket <= buckets; bucket += kSortThreads) {
      const u64 first = static_cast<u64>(bucket) * kRows << kTokenBits;
      int begin = 0;
      for (int step = kPart / 2; step > 0; step /= 2) {
        if (keys[begin + step - 1] < first) begin += step;
      }
      if (keys[begin] < first) ++begin;
      starts[part * (buckets + 1) + bucket] = static_cast<u32>(begin);
    }
    __syncthreads();
  }
}

// The shared memory of a block of the second kernel.
template <int kWarps>
struct Listed {
  u32 tokens[kPart];   // of some parts, in order
  u32 ordered[kPart];  // by row
  u8 rows[kPart], ordered_rows[kPart];
  int ends[kWarps * kWarpSize];  // of each part's tokens
  int of_warps[kWarps];
};

template <class Config>
struct Bucket {
  using T = typename Config::dtype;
  enum : int {
    kVec = Config::vec,
    kRows = Config::rows_per_block,
    kUnroll = Config::unroll,
    kWarps = Config::num_warps,
    kThreads = Config::num_warps * kWarpSize,
  };
  static_assert(kRows <= 256, "a row's number has 8 bits");

  const T* dy;
  const u32 *sorted, *starts;
  float* dtable;
  i64 tokens, vocab, d, number;
  Listed<kWarps>* listed;

  // The sum of `value` over this thread and the threads before it.
  __device__ __forceinline__ int up_to(int value) const {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarpSize, warp = thread / kWarpSize;
#pragma unroll
    for (int offset = 1; offset < kWarpSize; offset *= 2) {
      const int other = __shfl_up_sync(kFullMask, value, offset);
      if (lane >= offset) value += other;
    }
    if (lane == kWarpSize - 1) listed->of_warps[warp] = value;
    __syncthreads();
    for (int w = 0; w < warp; ++w) value += listed->of_warps[w];
    return value;
  }

  // Gathers the bucket's tokens of the parts from `first` on, by row: as many parts as fit, whose number it returns.
  __device__ __forceinline__ int list(i64 first, int& count) const {
    const int thread = static_cast<int>(threadIdx.x);
    const i64 parts = parts_of(tokens), buckets = ceil_div<i64>(vocab, kRows), part = first + thread;
    u32 begin = 0, end = 0;
    if (part < parts) {
      begin = starts[part * (buckets + 1) + number];
      end = starts[part * (buckets + 1) + number + 1];
    }
    const int last = up_to(static_cast<int>(end - begin));
    listed->ends[thread] = last;
    if (last <= kPart) {
      int place = last - static_cast<int>(end - begin);
      for (u32 i = begin; i < end; ++i, ++place) {
        const u32 entry = sorted[part * kPart + i];
        listed->tokens[place] = static_cast<u32>(part * kPart) + (entry & ((1 << kTokenBits) - 1));
        listed->rows[place] = static_cast<u8>(entry >> kTokenBits);
      }
    }
    __syncthreads();
    // The ends are monotonic: search them for the parts that fit.
    int fit = 0;
    for (int step = kThreads / 2; step > 0; step /= 2) {
      if (listed->ends[fit + step - 1] <= kPart) fit += step;
    }
    if (listed->ends[fit] <= kPart) ++fit;
    count = listed->ends[fit - 1];
    for (int i = thread; i < count; i += kThreads) {
      const u8 row = listed->rows[i];
      int place = 0;
      for (int k = 0; k < count; ++k) place += listed->rows[k] < row || (listed->rows[k] == row && k < i);
      listed->ordered[place] = listed->tokens[i];
      listed->ordered_rows[place] = row;
    }
    __syncthreads();
    return fit;
  }

  __device__ __forceinline__ float* out(int row, i64 column) const {
    return dtable + (number * kRows + row) * d + column;
  }
  __device__ __forceinline__ void begin_row(bool is_first, int row, i64 column, float (&sums)[kVec]) const {
    Vector<float, kVec> before{};
    if (!is_first) before = load_vector<kVec>(const_cast<const float*>(out(row, column)));
#pragma unroll
    for (int j = 0; j < kVec; ++j) sums[j] = before[j];
  }
  __device__ __forceinline__ void end_row(int row, i64 column, const float (&sums)[kVec]) const {
    Vector<float, kVec> values;
#pragma unroll
    for (int j = 0; j < kVec; ++j) values[j] = sums[j];
    store_vector<Store::kEvictFirst>(out(row, column), values);
  }

  // Adds the listed tokens' gradients.
  __device__ __forceinline__ void add(bool is_first, int count, i64 column) const {
    const int rows = static_cast<int>(min(i64{kRows}, vocab - number * kRows));
    int row = 0;
    float sums[kVec];
    begin_row(is_first, row, column, sums);
    const auto go_to = [&](int next) {
      while (row < next) {
        end_row(row, column, sums);
        if (++row < rows) begin_row(is_first, row, column, sums);
      }
    };
    for (int first = 0; first < count; first += kUnroll) {
      Packed<T, kVec> loaded[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (first + u < count) loaded[u] = load_packed<kVec>(dy + i64{listed->ordered[first + u]} * d + column);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (first + u >= count) break;
        go_to(listed->ordered_rows[first + u]);
        float values[kVec];
        to_float(loaded[u], values);
#pragma unroll
        for (int j = 0; j < kVec; ++j) sums[j] += values[j];
      }
    }
    go_to(rows);
  }

  __device__ __forceinline__ void run() const {
    constexpr int kWide = kThreads * kVec;
    int count = 0;
    for (i64 part = 0; part < parts_of(tokens);) {
      const int parts = list(part, count);
      for (i64 column = i64{blockIdx.y} * kWide + i64{threadIdx.x} * kVec; column < d;
           column += i64{gridDim.y} * kWide) {
        add(part == 0, count, column);
      }
      part += parts;
      __syncthreads();
    }
  }
};

}  // namespace embedding_bwd

template <class Config>
__global__ void __launch_bounds__(embedding_bwd::kSortThreads)
    embedding_bwd_sort(const long long* index, void* sorted, void* starts, long long tokens, long long vocab) {
  using namespace tilewright;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  ptx::grid_launch_dependents();
#endif
  embedding_bwd::sort_parts<Config::rows_per_block>(index, static_cast<u32*>(sorted), static_cast<u32*>(starts), tokens,
                                                    vocab);
}

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    embedding_bwd_of_buckets(const typename Config::dtype* dy, const void* sorted, const void* starts, float* dtable,
                             long long tokens, long long vocab, long long d) {
  using namespace tilewright;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  ptx::grid_dependency_wait();
#endif
  const i64 buckets = ceil_div<i64>(vocab, Config::rows_per_block);
  for (i64 bucket = blockIdx.x; bucket < buckets; bucket += gridDim.x) {
    embedding_bwd::Bucket<Config>{dy,
                                  static_cast<const u32*>(sorted),
                                  static_cast<const u32*>(starts),
                                  dtable,
                                  tokens,
                                  vocab,
                                  d,
                                  bucket,
                                  shared_storage<embedding_bwd::Listed<Config::num_warps>>()}
        .run();
  }
}
