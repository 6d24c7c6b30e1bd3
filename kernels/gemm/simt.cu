// SPDX-License-Identifier: Apache-2.0
//
// gemm, c = act(a · b + bias) + residual, without tensor cores, in fp32: any dtype, layout (layout.cuh), shape ≥ 1 and
// address. It serves f32 with math=ieee, and problems that no other implementation serves.
//
// A block computes block_m × block_n of c, a warp 32 × 64 of it, a thread 8 × 8: four pieces of 4 × 4, so that eight
// neighbouring lanes read 128 contiguous bytes of shared memory.
//
//             columns  0 … 31          32 … 63
//   rows  0 … 15       lane 8y + x has 4 × 4 elements from row 4y and column 4x in each of the four quarters
//   rows 16 … 31
//
// With split_k > 1 a block does so over a part of k, and split.cuh adds the parts.
//
// Shared memory: two buffers of block_k × (block_m + block_n + 8) floats, and a word. While one is multiplied, the next
// elements travel to registers. sm_80 and later.

#include "device/convert.cuh"
#include "device/ptx/opaque.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"
#include "layout.cuh"
#include "output.cuh"
#include "split.cuh"

namespace tilewright::gemm {

template <class Config>
struct SimtGeometry {
  enum : bool { kGoesOn = Config::block_m == 64 && Config::block_n == 64 };
  enum : int {
    kBlockM = Config::block_m,
    kBlockN = Config::block_n,
    kBlockK = Config::block_k,
    kWarpM = 32,
    kWarpN = 64,
    kWarpsN = kBlockN / kWarpN,
    kWarps = kBlockM / kWarpM * kWarpsN,
    kThreads = kWarps * kWarpSize,
    // Blocks per SM that leave a thread 128 registers, or 168 if it has more elements in flight.
    kBlocks = (kThreads == 256 ? 512 : 384) / kThreads,
    // Keeps the columns of a k-major operand, stored one element a lane, in separate banks.
    kPadding = 4,
  };
  static_assert(kBlockM % kWarpM == 0 && kBlockN % kWarpN == 0, "a block has whole warp tiles of 32 x 64");
  static_assert(!kGoesOn || Config::split_k == 1, "blocks that take tile after tile take them whole");
  static_assert(kBlockK % 8 == 0, "8 lanes read neighbours along k");

  struct Buffer {
    alignas(16) float a[kBlockK][kBlockM + kPadding];
    alignas(16) float b[kBlockK][kBlockN + kPadding];
  };
  struct Storage {
    Buffer buffers[2];
    alignas(16) u32 word;
  };
};

// A thread's elements of kExtent rows and kBlockK columns, on the way from an operand to buffer after buffer along k.
// In a k-major operand 8 neighbouring threads take 8 neighbours along k, else all threads neighbouring rows.
template <class T, bool kKMajor, int kExtent, int kBlockK, int kThreads>
class SimtCopy {
 public:
  __device__ __forceinline__ SimtCopy(const Operand<T, kKMajor>& operand, i64 first_row, i64 first_column, int thread)
      : row_(kKMajor ? thread / 8 : thread % kExtent),
        column_(kKMajor ? thread % 8 : thread / kExtent),
        rows_left_(static_cast<int>(operand.extent - first_row < kExtent ? operand.extent - first_row : kExtent)),
        pitch_(operand.pitch()),
        from_(operand.at(first_row + row_, first_column + column_)) {}

  // Loads the next elements, of which `columns_left` columns exist, or all.
  __device__ __forceinline__ void load(int columns_left) {
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const T* from = from_ + part * 8;
#pragma unroll
      for (int j = part * kOfPart; j < (part + 1) * kOfPart; ++j) {
        const bool exists = row(j) < rows_left_ && column(j) < columns_left;
        elements_[j] = exists ? to_float(*from) : 0.0f;
        from += kAtOnce * pitch_;
      }
    }
    from_ += kKMajor ? kBlockK : kBlockK * pitch_;
  }

  template <int kPitch>
  __device__ __forceinline__ void store(float (&to)[kBlockK][kPitch]) const {
#pragma unroll
    for (int j = 0; j < kCount; ++j) to[column(j)][row(j)] = elements_[j];
  }

 private:
  enum : int {
    kCount = kExtent * kBlockK / kThreads,
    kAtOnce = kKMajor ? kThreads / 8 : kThreads / kExtent,  // rows, or columns
    kParts = kKMajor ? kBlockK / 8 : 1,                     // of 8 columns
    kOfPart = kCount / kParts,
  };
  static_assert(kExtent % (kKMajor ? int{kAtOnce} : 1) == 0 && (kKMajor || kThreads % kExtent == 0),
                "threads share a block's elements evenly");

  __device__ __forceinline__ int row(int j) const { return kKMajor ? row_ + j % kOfPart * kAtOnce : row_; }
  __device__ __forceinline__ int column(int j) const { return column_ + (kKMajor ? j / kOfPart * 8 : j * kAtOnce); }

  float elements_[kCount];
  int row_, column_;
  int rows_left_;
  i64 pitch_;
  const T* from_;
};

// The tiles of c that blocks compute: one each, all tiles for one part of k, then for the next. If a block takes
// several tiles, their numbers may need 64 bits.
template <class Config>
struct SimtPlace {
  using G = SimtGeometry<Config>;

  i64 m, n;

  template <class Number>
  __device__ __forceinline__ Number tiles_n() const {
    return static_cast<Number>(ceil_div(n, i64{G::kBlockN}));
  }
  template <class Number>
  __device__ __forceinline__ Number tiles() const {
    return static_cast<Number>(ceil_div(m, i64{G::kBlockM})) * tiles_n<Number>();
  }
  template <class Number>
  __device__ __forceinline__ u32 split(Number number) const {
    return Config::split_k > 1 ? static_cast<u32>(number / tiles<Number>()) : 0;
  }
  template <class Number>
  __device__ __forceinline__ Number tile(Number number) const {
    return Config::split_k > 1 ? number % tiles<Number>() : number;
  }
  template <class Number>
  __device__ __forceinline__ i64 row(Number number) const {
    return i64{tile(number) / tiles_n<Number>()} * G::kBlockM;
  }
  template <class Number>
  __device__ __forceinline__ i64 column(Number number) const {
    return i64{tile(number) % tiles_n<Number>()} * G::kBlockN;
  }
};

template <class Config>
struct SimtTile {
  using T = typename Config::dtype;
  using G = SimtGeometry<Config>;
  using Buffer = typename G::Buffer;

  int thread;
  float sums[8][8];

  __device__ __forceinline__ int row() const {
    return thread / kWarpSize / G::kWarpsN * G::kWarpM + thread % kWarpSize / 8 * 4;
  }
  __device__ __forceinline__ int column() const { return thread / kWarpSize % G::kWarpsN * G::kWarpN + thread % 8 * 4; }

  __device__ __forceinline__ void multiply(const Buffer& buffer) {
#pragma unroll
    for (int k = 0; k < G::kBlockK; ++k) {
      float a[8], b[8];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const auto rows = load_vector<4>(&buffer.a[k][row() + half * 16]);
        const auto columns = load_vector<4>(&buffer.b[k][column() + half * 32]);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          a[half * 4 + i] = rows[i];
          b[half * 4 + i] = columns[i];
        }
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
      }
    }
  }

  // Computes the tile of c at `first_row` and `first_column`, over `blocks` blocks of k from `k`.
  __device__ __forceinline__ void compute(Buffer (&buffers)[2], const Operand<T, Layout<Config>::kMajorA>& a,
                                          const Operand<T, Layout<Config>::kMajorB>& b, i64 first_row, i64 first_column,
                                          i64 k, u32 blocks) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) sums[i][j] = 0.0f;
    }
    SimtCopy<T, Layout<Config>::kMajorA, G::kBlockM, G::kBlockK, G::kThreads> copy_a(a, first_row, k, thread);
    SimtCopy<T, Layout<Config>::kMajorB, G::kBlockN, G::kBlockK, G::kThreads> copy_b(b, first_column, k, thread);
    i64 k_left = a.k - k;
    const auto load = [&] {
      const int columns_left = static_cast<int>(k_left < G::kBlockK ? k_left : G::kBlockK);
      copy_a.load(columns_left);
      copy_b.load(columns_left);
      k_left -= G::kBlockK;
    };
    load();
    copy_a.store(buffers[0].a);
    copy_b.store(buffers[0].b);
    __syncthreads();
    int current = 0;
#pragma unroll 1
    for (u32 left = blocks; left > 0; --left) {
      if (left > 1) load();
      multiply(buffers[current]);
      current ^= 1;
      if (left > 1) {
        copy_a.store(buffers[current].a);
        copy_b.store(buffers[current].b);
      }
      __syncthreads();
    }
  }

  __device__ __forceinline__ void store(const Output<Config>& output, i64 first_row, i64 first_column) {
    const bool by_vectors = output.template allows<4>();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const i64 at_row = first_row + row() + i / 4 * 16 + i % 4;
      if (at_row >= output.m) continue;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const i64 at_column = first_column + column() + half * 32;
        float four[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) four[j] = sums[i][half * 4 + j];
        if (!by_vectors) {
          output.store_each(four, at_row, at_column);
        } else if (at_column < output.n) {
          output.store(four, at_row, at_column);
        }
      }
    }
  }
};

}  // namespace tilewright::gemm

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::SimtGeometry<Config>::kThreads,
                                  tilewright::gemm::SimtGeometry<Config>::kBlocks)
    gemm_simt(const typename Config::dtype* a, const typename Config::dtype* b, const typename Config::dtype* bias,
              const typename Config::dtype* residual, typename Config::dtype* c, float* partial, unsigned* counters,
              long long m, long long n, long long k) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  using T = typename Config::dtype;
  using G = SimtGeometry<Config>;
  auto& storage = *shared_storage<typename G::Storage>();
  const Operand<T, Layout<Config>::kMajorA> of_a{a, m, k};
  const Operand<T, Layout<Config>::kMajorB> of_b{b, n, k};
  const int thread = static_cast<int>(threadIdx.x);
  SimtTile<Config> part;
  part.thread = thread;

  const SimtPlace<Config> place{m, n};
  const auto compute_part = [&](auto number) {
    const u32 split = place.split(number);
    const auto range = split_range<Config::split_k>(static_cast<u32>(ceil_div(k, i64{G::kBlockK})), split);
    part.compute(storage.buffers, of_a, of_b, place.row(number), place.column(number), i64{range.first} * G::kBlockK,
                 range.count);
    const bool is_whole =
        Split<Config::split_k, G::kThreads>::sum_up(part.sums, partial, counters, static_cast<u32>(place.tile(number)),
                                                    split, thread, &storage.word, [] { __syncthreads(); });
    // Compute the place again: kept, it would take registers from the loop above.
    if constexpr (!G::kGoesOn) number = static_cast<u32>(ptx::opaque(static_cast<int>(number)));
    if (is_whole) part.store({bias, residual, c, m, n}, place.row(number), place.column(number));
  };
  // The base's grid may have fewer blocks than tiles.
  if constexpr (G::kGoesOn) {
    for (i64 number = blockIdx.x; number < place.template tiles<i64>(); number += gridDim.x) compute_part(number);
  } else {
    compute_part(u32{blockIdx.x});
  }
}
