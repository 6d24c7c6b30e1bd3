// SPDX-License-Identifier: Apache-2.0
//
// gemm without tensor cores, in fp32: any dtype, layout, shape ≥ 1 and address. What nothing else serves, and what f32 with
// math=ieee is computed by.
//
// A block computes block_m × block_n of c, a warp 32 × 64 of it, a thread 8 × 8: four pieces of 4 × 4, so that eight
// neighbouring lanes read 128 neighbouring bytes of shared memory.
//
//             columns  0 … 31          32 … 63
//   rows  0 … 15       lane 8y + x has 4 × 4 elements from row 4y and column 4x in each of the four quarters
//   rows 16 … 31
//
// Shared memory: two buffers of block_k × (block_m + block_n + 8) floats. While one is multiplied, the next elements are on
// their way into registers. sm_80 and later.

#include "device/convert.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"
#include "layout.cuh"
#include "output.cuh"

namespace tilewright::gemm {

template <class Config>
struct SimtGeometry {
  enum : int {
    kBlockM = Config::block_m,
    kBlockN = Config::block_n,
    kBlockK = Config::block_k,
    kWarpM = 32,
    kWarpN = 64,
    kWarpsN = kBlockN / kWarpN,
    kWarps = kBlockM / kWarpM * kWarpsN,
    kThreads = kWarps * kWarpSize,
    // Keeps columns of a k-major operand, which are stored one element a lane, in banks of their own.
    kPadding = 4,
  };
  static_assert(kBlockM % kWarpM == 0 && kBlockN % kWarpN == 0, "a block has whole warp tiles of 32 x 64");
  static_assert(kBlockK % 8 == 0, "8 lanes read neighbours along k");

  struct Buffer {
    alignas(16) float a[kBlockK][kBlockM + kPadding];
    alignas(16) float b[kBlockK][kBlockN + kPadding];
  };
};

// A thread's elements on their way from an operand to a buffer: kExtent rows, kBlockK columns. A warp takes 4 rows × 8
// columns where it is k-major, else 32 rows of a column.
template <class T, bool kKMajor, int kExtent, int kBlockK, int kWarps>
struct SimtCopy {
  enum : int {
    kCount = kExtent * kBlockK / (kWarps * kWarpSize),
    kLaneColumns = kKMajor ? 8 : 1,
    kLaneRows = kWarpSize / kLaneColumns,
    kRowParts = kExtent / kLaneRows,
  };
  static_assert(kExtent * kBlockK % (kWarps * kWarpSize) == 0, "a thread copies whole elements");

  float elements[kCount];
  int warp, lane;

  __device__ __forceinline__ int row(int i) const {
    return (i * kWarps + warp) % kRowParts * kLaneRows + lane / kLaneColumns;
  }
  __device__ __forceinline__ int column(int i) const {
    return (i * kWarps + warp) / kRowParts * kLaneColumns + lane % kLaneColumns;
  }

  __device__ __forceinline__ void load(const Operand<T, kKMajor>& operand, i64 first_row, i64 first_column) {
    const i64 rows = operand.extent - first_row, columns = operand.k - first_column;
    const T* const from = operand.at(first_row, first_column);
    const i64 pitch = operand.pitch();
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const i64 offset = kKMajor ? row(i) * pitch + column(i) : column(i) * pitch + row(i);
      elements[i] = row(i) < rows && column(i) < columns ? to_float(from[offset]) : 0.0f;
    }
  }

  template <int kPitch>
  __device__ __forceinline__ void store(float (&to)[kBlockK][kPitch]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) to[column(i)][row(i)] = elements[i];
  }
};

template <class Config>
struct SimtTile {
  using T = typename Config::dtype;
  using G = SimtGeometry<Config>;
  using Buffer = typename G::Buffer;

  int warp, lane;
  float sums[8][8];

  __device__ __forceinline__ int row() const { return warp / G::kWarpsN * G::kWarpM + lane / 8 * 4; }
  __device__ __forceinline__ int column() const { return warp % G::kWarpsN * G::kWarpN + lane % 8 * 4; }

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

  __device__ __forceinline__ void compute(Buffer (&buffers)[2], const Operand<T, Layout<Config>::kMajorA>& a,
                                          const Operand<T, Layout<Config>::kMajorB>& b, i64 first_row,
                                          i64 first_column) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) sums[i][j] = 0.0f;
    }
    SimtCopy<T, Layout<Config>::kMajorA, G::kBlockM, G::kBlockK, G::kWarps> copy_a{{}, warp, lane};
    SimtCopy<T, Layout<Config>::kMajorB, G::kBlockN, G::kBlockK, G::kWarps> copy_b{{}, warp, lane};
    copy_a.load(a, first_row, 0);
    copy_b.load(b, first_column, 0);
    copy_a.store(buffers[0].a);
    copy_b.store(buffers[0].b);
    __syncthreads();
    int current = 0;
    for (i64 k = 0; k < a.k; k += G::kBlockK) {
      const bool more = k + G::kBlockK < a.k;
      if (more) {
        copy_a.load(a, first_row, k + G::kBlockK);
        copy_b.load(b, first_column, k + G::kBlockK);
      }
      multiply(buffers[current]);
      current ^= 1;
      if (more) {
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
__global__ void __launch_bounds__(tilewright::gemm::SimtGeometry<Config>::kThreads)
    gemm_simt(const typename Config::dtype* a, const typename Config::dtype* b, const typename Config::dtype* bias,
              const typename Config::dtype* residual, typename Config::dtype* c, long long m, long long n,
              long long k) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  using T = typename Config::dtype;
  using G = SimtGeometry<Config>;
  auto& buffers = *shared_storage<typename G::Buffer[2]>();
  const Operand<T, Layout<Config>::kMajorA> of_a{a, m, k};
  const Operand<T, Layout<Config>::kMajorB> of_b{b, n, k};
  SimtTile<Config> tile;
  tile.warp = static_cast<int>(threadIdx.x) / kWarpSize;
  tile.lane = static_cast<int>(threadIdx.x) % kWarpSize;

  // A grid has fewer blocks than the largest tensors have tiles.
  const i64 tiles_n = ceil_div(n, i64{G::kBlockN});
  const i64 tiles = ceil_div(m, i64{G::kBlockM}) * tiles_n;
  for (i64 i = blockIdx.x; i < tiles; i += gridDim.x) {
    const i64 first_row = i / tiles_n * G::kBlockM, first_column = i % tiles_n * G::kBlockN;
    tile.compute(buffers, of_a, of_b, first_row, first_column);
    tile.store({bias, residual, c, m, n}, first_row, first_column);
  }
}
