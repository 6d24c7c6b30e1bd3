// SPDX-License-Identifier: Apache-2.0
//
// Row softmax: y[r][c] = exp(x[r][c] - m_r) / s_r,  m_r = max over c of x[r][c],  s_r = sum over c of exp(x[r][c] - m_r).
//
//   x, y   rows × cols, row-major and dense; y may be x itself; any rows ≥ 1, any cols ≥ 1.
//   -inf   entries give 0; a row of -inf alone gives NaN, as does a row with NaN or +inf.
//
// All kernels accumulate in fp32. A partial result over some elements is the pair (max, sum of exp(x - max)); pairs are
// merged by rescaling (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018), so that one exchange
// between warps serves for both numbers.
//
//   onchip   a row in the registers of threads_per_row threads; shared memory 2 × num_warps × 8 bytes; sm_80 and later
//   staged   a row in shared memory, brought by a bulk copy; shared memory 1024 bytes and a row a stage; sm_90 and later
//   online   a row a block, read twice; shared memory as for onchip; sm_80 and later

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/math.cuh"
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/reduce.cuh"
#include "device/row.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"

namespace softmax {

using tilewright::i64;
using tilewright::kInfinity;
using tilewright::kWarpSize;

// The pair (max, sum) of the elements seen so far; sum is relative to max.
struct Partial {
  float max;
  float sum;
};

// exp(x - max), where nothing seen so far (max = -inf) makes nothing: 0 and not NaN.
template <class T>
__device__ __forceinline__ float shifted_exp(float x, float max) {
  return tilewright::exp_for<T>(x - (max == -kInfinity ? 0.0f : max));
}

// A vector of elements that count for nothing.
template <class T, int kVec>
__device__ __forceinline__ tilewright::Vector<T, kVec> nothing() {
  tilewright::Vector<T, kVec> vector;
#pragma unroll
  for (int j = 0; j < kVec; ++j) vector[j] = tilewright::from_float<T>(-kInfinity);
  return vector;
}

// Replaces a thread's elements x by exp(x - max), max being that of the kLanes lanes that share the row in this warp, and
// returns those lanes' partial.
template <class T, int kLanes, int kChunks, int kVec>
__device__ __forceinline__ Partial exponentials(float (&values)[kChunks][kVec]) {
  float max = -kInfinity;
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
#pragma unroll
    for (int j = 0; j < kVec; ++j) max = fmaxf(max, values[chunk][j]);
  }
  max = tilewright::reduce_lanes<kLanes>(max, tilewright::Max{});
  float sum = 0.0f;
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
#pragma unroll
    for (int j = 0; j < kVec; ++j) {
      values[chunk][j] = shifted_exp<T>(values[chunk][j], max);
      sum += values[chunk][j];
    }
  }
  return {max, tilewright::reduce_lanes<kLanes>(sum, tilewright::Sum{})};
}

template <class T, int kVec>
__device__ __forceinline__ tilewright::Vector<T, kVec> scaled(const float (&values)[kVec], float factor) {
  float products[kVec];
#pragma unroll
  for (int j = 0; j < kVec; ++j) products[j] = values[j] * factor;
  return tilewright::from_float<T>(products);
}

// Merges the partials of the kWarps warps that share a row. `slots` has kWarps entries for this row; the caller
// alternates between two sets of them, so that one barrier an exchange is enough.
template <class T, int kWarps>
__device__ __forceinline__ Partial merge_warps(Partial mine, Partial* slots, int warp_in_row) {
  if constexpr (kWarps == 1) return mine;
  if (threadIdx.x % kWarpSize == 0) slots[warp_in_row] = mine;
  __syncthreads();
  // Every thread folds the same values in the same order, max first: one rescaling a warp.
  float max = slots[0].max;
#pragma unroll
  for (int w = 1; w < kWarps; ++w) max = fmaxf(max, slots[w].max);
  float sum = 0.0f;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum += slots[w].sum * shifted_exp<T>(slots[w].max, max);
  return {max, sum};
}

}  // namespace softmax

// A row in registers: thread t of a row holds the vectors t, t + threads_per_row, …
template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    softmax_onchip(const typename Config::dtype* x, typename Config::dtype* y, long long rows, long long cols) {
  using namespace tilewright;
  using T = typename Config::dtype;
  constexpr int kThreadsPerRow = Config::num_warps * kWarpSize / Config::rows_per_block;
  constexpr int kLanes = kThreadsPerRow < kWarpSize ? kThreadsPerRow : kWarpSize;
  constexpr int kWarpsPerRow = kThreadsPerRow / kLanes;
  constexpr int kVec = Config::vec;
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");
  static_assert(Config::num_warps * kWarpSize % Config::rows_per_block == 0, "rows_per_block must divide the threads");
  static_assert(kThreadsPerRow >= 4, "a row needs 4 threads or more");
  static_assert(Config::chunks * kVec <= 64, "more elements a thread than its registers hold");

  using Row = RowVectors<T, kVec, Config::ragged != 0>;
  const i64 width = Config::cols ? Config::cols : cols;
  const int thread_in_row = static_cast<int>(threadIdx.x) % kThreadsPerRow;
  const int row_in_block = static_cast<int>(threadIdx.x) / kThreadsPerRow;
  softmax::Partial* const slots = shared_storage<softmax::Partial>() + row_in_block * kWarpsPerRow;

  // Loads this thread's share of row `r`; what lies outside the row or the matrix is -inf.
  typename Row::Vec loaded[Config::chunks];
  const auto load = [&](i64 r) {
    const T* const source = x + r * width;
    const Row row(source, width);
    const i64 count = r < rows ? row.count() : 0;
#pragma unroll
    for (int chunk = 0; chunk < Config::chunks; ++chunk) {
      const i64 i = chunk * kThreadsPerRow + thread_in_row;
      if (i < count) {
        loaded[chunk] = row.load(source, i, from_float<T>(-kInfinity));
      } else {
        loaded[chunk] = softmax::nothing<T, kVec>();
      }
    }
  };

  const i64 groups = ceil_div<i64>(rows, Config::rows_per_block);
  i64 group = blockIdx.x;
  load(group * Config::rows_per_block + row_in_block);
  for (int parity = 0; group < groups; parity ^= 1) {
    const i64 r = group * Config::rows_per_block + row_in_block;

    // Exponentials of this thread's share, and the warp's (max, sum).
    float values[Config::chunks][kVec];
#pragma unroll
    for (int chunk = 0; chunk < Config::chunks; ++chunk) to_float(loaded[chunk], values[chunk]);
    const softmax::Partial mine = softmax::exponentials<T, kLanes>(values);

    // The registers that were read from are free: the next row's loads fly while this row is reduced and stored.
    if constexpr (Config::persistent != 0) {
      group += gridDim.x;
      if (group < groups) load(group * Config::rows_per_block + row_in_block);
    } else {
      group = groups;
    }

    // The row's maximum and sum over all of its warps.
    softmax::Partial* const exchange = slots + parity * Config::num_warps;
    const softmax::Partial whole = softmax::merge_warps<T, kWarpsPerRow>(mine, exchange, thread_in_row / kWarpSize);
    const float factor = softmax::shifted_exp<T>(mine.max, whole.max) / whole.sum;

    // Normalise and store.
    if (r < rows) {
      T* const target = y + r * width;
      const Row row(x + r * width, width);
      const i64 count = row.count();
#pragma unroll
      for (int chunk = 0; chunk < Config::chunks; ++chunk) {
        const i64 i = chunk * kThreadsPerRow + thread_in_row;
        if (i < count) row.store(target, i, softmax::scaled<T>(values[chunk], factor));
      }
    }
  }
}

// A row in shared memory. One thread starts the bulk copy of a row; with one stage there is a block a row, with more the
// blocks are resident and fetch their next rows while they compute. Registers hold next to nothing, so that the copies of
// many rows are under way on each SM; the price is that exponentials are computed twice.
//
//   shared   | full[stages] | slots[2][num_warps] | … 1024 | row, padded to 128 bytes | row | …   one a stage
template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    softmax_staged(const typename Config::dtype* x, typename Config::dtype* y, long long rows, long long cols) {
  using namespace tilewright;
  using T = typename Config::dtype;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  constexpr int kVec = Config::vec;
  constexpr int kHeaderBytes = 1024;
  constexpr int kRowAlignment = 128;
  struct Header {
    u64 full[Config::stages];
    softmax::Partial slots[2][Config::num_warps];
  };
  static_assert(kVec * sizeof(T) == 16, "bulk copies move whole vectors of 16 bytes");
  static_assert(sizeof(Header) <= kHeaderBytes, "barriers and partials fit in front of the rows");

  unsigned char* const storage = shared_storage<unsigned char>();
  Header& header = *reinterpret_cast<Header*>(storage);
  const int width = static_cast<int>(Config::cols ? Config::cols : cols);
  const u32 row_bytes = static_cast<u32>(width * sizeof(T));
  const u32 stage_bytes = round_up<u32>(row_bytes, kRowAlignment);
  const int thread = static_cast<int>(threadIdx.x);

  // Barriers, then the first rows.
  const auto fetch = [&](i64 r, int stage) {
    ptx::mbarrier_arrive_expect_tx(&header.full[stage], row_bytes);
    ptx::bulk_load(storage + kHeaderBytes + stage * stage_bytes, x + r * width, row_bytes, &header.full[stage]);
  };
  if (thread == 0) {
    for (int stage = 0; stage < Config::stages; ++stage) ptx::mbarrier_init(&header.full[stage], 1);
    ptx::fence_mbarrier_init();
    for (int stage = 0; stage < Config::stages; ++stage) {
      const i64 r = blockIdx.x + i64{stage} * gridDim.x;
      if (r < rows) fetch(r, stage);
    }
  }
  __syncthreads();

  int stage = 0;
  u32 phase = 0;
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    ptx::mbarrier_wait(&header.full[stage], phase);
    const T* const row = reinterpret_cast<const T*>(storage + kHeaderBytes + stage * stage_bytes);

    // The warp's maximum, then its sum against that.
    float max = -kInfinity;
#pragma unroll Config::unroll
    for (int i = thread * kVec; i < width; i += kThreads * kVec) {
      float values[kVec];
      to_float(load_vector<kVec>(row + i), values);
#pragma unroll
      for (int j = 0; j < kVec; ++j) max = fmaxf(max, values[j]);
    }
    max = reduce_lanes<kWarpSize>(max, Max{});
    float sum = 0.0f;
#pragma unroll Config::unroll
    for (int i = thread * kVec; i < width; i += kThreads * kVec) {
      float values[kVec];
      to_float(load_vector<kVec>(row + i), values);
#pragma unroll
      for (int j = 0; j < kVec; ++j) sum += softmax::shifted_exp<T>(values[j], max);
    }
    sum = reduce_lanes<kWarpSize>(sum, Sum{});

    // The row's maximum and sum.
    const softmax::Partial whole =
        softmax::merge_warps<T, Config::num_warps>({max, sum}, header.slots[phase], thread / kWarpSize);
    const float scale = 1.0f / whole.sum;

    // Normalise and store.
    T* const target = y + r * width;
#pragma unroll Config::unroll
    for (int i = thread * kVec; i < width; i += kThreads * kVec) {
      float values[kVec];
      to_float(load_vector<kVec>(row + i), values);
#pragma unroll
      for (int j = 0; j < kVec; ++j) values[j] = softmax::shifted_exp<T>(values[j], whole.max);
      store_vector(target + i, softmax::scaled<T>(values, scale));
    }

    // The stage is free once every thread has read it; its next row flies while the other stages are worked on.
    if constexpr (Config::stages > 1) {
      __syncthreads();
      const i64 next = r + i64{Config::stages} * gridDim.x;
      if (thread == 0 && next < rows) fetch(next, stage);
      stage = stage + 1 == Config::stages ? 0 : stage + 1;
      if (stage == 0) phase ^= 1;
    }
  }
}

// Any width, a block a row: pass one keeps a running (max, sum) a thread, pass two reads the row again and writes it.
template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    softmax_online(const typename Config::dtype* x, typename Config::dtype* y, long long rows, long long cols) {
  using namespace tilewright;
  using T = typename Config::dtype;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  constexpr int kVec = Config::vec;
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");

  using Row = RowVectors<T, kVec, Config::ragged != 0>;
  const int thread = static_cast<int>(threadIdx.x);
  int parity = 0;
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x, parity ^= 1) {
    const T* const source = x + r * cols;
    T* const target = y + r * cols;
    const Row row(source, cols);
    const i64 count = row.count();

    // Pass one: `unroll` vectors at a time, one rescaling for all of them.
    softmax::Partial mine{-kInfinity, 0.0f};
    for (i64 first = thread; first < count; first += i64{kThreads} * Config::unroll) {
      float values[Config::unroll][kVec];
      float max = mine.max;
#pragma unroll
      for (int u = 0; u < Config::unroll; ++u) {
        const i64 i = first + i64{u} * kThreads;
        typename Row::Vec loaded;
        if (i < count) {
          loaded = row.load(source, i, from_float<T>(-kInfinity));
        } else {
          loaded = softmax::nothing<T, kVec>();
        }
        to_float(loaded, values[u]);
#pragma unroll
        for (int j = 0; j < kVec; ++j) max = fmaxf(max, values[u][j]);
      }
      float sum = mine.sum * softmax::shifted_exp<T>(mine.max, max);
#pragma unroll
      for (int u = 0; u < Config::unroll; ++u) {
#pragma unroll
        for (int j = 0; j < kVec; ++j) sum += softmax::shifted_exp<T>(values[u][j], max);
      }
      mine = {max, sum};
    }

    // The block's (max, sum): lanes, then warps.
    const float warp_max = reduce_lanes<kWarpSize>(mine.max, Max{});
    const float warp_sum = reduce_lanes<kWarpSize>(mine.sum * softmax::shifted_exp<T>(mine.max, warp_max), Sum{});
    softmax::Partial* const exchange = shared_storage<softmax::Partial>() + parity * Config::num_warps;
    const softmax::Partial whole =
        softmax::merge_warps<T, Config::num_warps>({warp_max, warp_sum}, exchange, thread / kWarpSize);
    const float scale = 1.0f / whole.sum;

    // Pass two. In place, a thread reads a vector before it writes it, and no other thread reads that vector any more.
    for (i64 first = thread; first < count; first += i64{kThreads} * Config::unroll) {
#pragma unroll
      for (int u = 0; u < Config::unroll; ++u) {
        const i64 i = first + i64{u} * kThreads;
        if (i >= count) continue;
        float values[kVec];
        to_float(row.load(source, i, from_float<T>(0.0f)), values);
#pragma unroll
        for (int j = 0; j < kVec; ++j) values[j] = softmax::shifted_exp<T>(values[j], whole.max);
        row.store(target, i, softmax::scaled<T>(values, scale));
      }
    }
  }
}

// What is right: a warp a row, everything in fp64.
template <class Config>
__global__ void softmax_reference(const typename Config::dtype* x, double* y, long long rows, long long cols) {
  using namespace tilewright;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = i64{gridDim.x} * (blockDim.x / kWarpSize);
  const i64 warp = i64{blockIdx.x} * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  for (i64 r = warp; r < rows; r += warps) {
    const auto* const row = x + r * cols;
    float max = -kInfinity;
    for (i64 c = lane; c < cols; c += kWarpSize) max = fmaxf(max, to_float(row[c]));
    max = reduce_lanes<kWarpSize>(max, Max{});
    double sum = 0.0;
    for (i64 c = lane; c < cols; c += kWarpSize) sum += exp(double{to_float(row[c])} - double{max});
    sum = reduce_lanes<kWarpSize>(sum, Sum{});
    for (i64 c = lane; c < cols; c += kWarpSize) y[r * cols + c] = exp(double{to_float(row[c])} - double{max}) / sum;
  }
}
