// SPDX-License-Identifier: Apache-2.0
//
// gemm, c = act(a · b + bias) + residual, by mma.sync: bf16, f16, and f32 with math=tf32, whose operands are rounded to
// tf32. Any layout (layout.cuh) and shape ≥ 1.
//
//   a, b   row lengths and addresses are multiples of `vec` bytes: 16, 8, 4 or one element
//   c, bias, residual   any address; by vectors of 4 elements if all allow it
//
// A block computes block_m × block_n of c over one of split_k parts of k, a warp warp_m × warp_n of it:
//
//   global ── cp.async ──▶ ring of `stages` tiles of a and b ── ldmatrix ──▶ fragments ── mma ──▶ sums in registers
//                          (mma_copy.cuh, mma_tile.cuh)
//   sums ── parts of k added (split.cuh) ── 16 rows of a warp at a time through shared memory ──▶ c (output.cuh)
//
// Shared memory: stages · block_k · (block_m + block_n) elements, or warps · 16 · (warp_n + 8) floats if that is more;
// and a word. sm_80 and later.

#include "device/ptx/cp_async.cuh"
#include "device/ptx/opaque.cuh"
#include "device/shared.cuh"
#include "mma_copy.cuh"
#include "output.cuh"
#include "raster.cuh"
#include "split.cuh"

namespace tilewright::gemm {

template <class Config>
struct MmaGeometry {
  using T = typename Config::dtype;
  enum : int {
    kBlockM = Config::block_m,
    kBlockN = Config::block_n,
    kBlockK = Config::block_k,
    kWarpM = Config::warp_m,
    kWarpN = Config::warp_n,
    kStages = Config::stages,
    kWarpsN = kBlockN / kWarpN,
    kWarps = kBlockM / kWarpM * kWarpsN,
    kThreads = kWarps * kWarpSize,

    // A warp's fragments: 16 rows of a each, pairs of 8 columns of b.
    kRowsOf16 = kWarpM / 16,
    kColumnsOf16 = kWarpN / 16,

    // 16 rows of sums on their way to c. The padding spreads a quad's pairs of 4 rows over all banks.
    kOutPitch = kWarpN + 8,
  };
  static_assert(kBlockM % kWarpM == 0 && kBlockN % kWarpN == 0, "a block has whole warp tiles");
  static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0, "a warp tile has whole fragments");
  static_assert((kWarpM & (kWarpM - 1)) == 0 && (kWarpN & (kWarpN - 1)) == 0, "places of fragments differ by xor");
  static_assert(kWarpM * kWarpN <= 64 * 64, "the sums of a thread stay in its registers");
  static_assert(kStages >= 2, "one tile is copied while another is multiplied");
  static_assert(!is_same<T, float> || Config::math == "tf32", "tensor cores have no fp32");

  using TileA = MmaTile<T, Side::kA, Layout<Config>::kMajorA, kBlockM, kBlockK>;
  using TileB = MmaTile<T, Side::kB, Layout<Config>::kMajorB, kBlockN, kBlockK>;
  using OperandA = Operand<T, Layout<Config>::kMajorA>;
  using OperandB = Operand<T, Layout<Config>::kMajorB>;

  struct Stage {
    unsigned char a[TileA::kBytes];
    unsigned char b[TileB::kBytes];
  };
  struct Storage {
    union {
      alignas(16) Stage stages[kStages];
      float out[kWarps][16 * kOutPitch];
    };
    alignas(16) u32 word;
  };
};

// Blocks take all tiles for one part of k, then for the next: concurrent blocks share operands.
template <class Config>
struct MmaPlace {
  using G = MmaGeometry<Config>;

  u32 tile, split;
  i64 row, column;

  __device__ __forceinline__ MmaPlace(i64 m, i64 n, u32 block) {
    const u32 tiles_m = static_cast<u32>(ceil_div(m, i64{G::kBlockM}));
    const u32 tiles_n = static_cast<u32>(ceil_div(n, i64{G::kBlockN}));
    split = Config::split_k > 1 ? block / (tiles_m * tiles_n) : 0;
    tile = block - split * (tiles_m * tiles_n);
    const RasterTile place = raster<Config>(tile, tiles_m, tiles_n);
    row = i64{place.row} * G::kBlockM;
    column = i64{place.column} * G::kBlockN;
  }
};

// A warp's part of a tile of c.
template <class Config>
struct MmaWarp {
  using G = MmaGeometry<Config>;
  using T = typename G::T;
  using TileA = typename G::TileA;
  using TileB = typename G::TileB;

  int row, column;  // the warp's first in the tile
  int lane;
  float sums[G::kRowsOf16 * G::kColumnsOf16 * 2][4];

  // Fragments of one step of k.
  struct Fragments {
    u32 a[G::kRowsOf16][4];
    u32 b[G::kColumnsOf16][4];
  };

  __device__ __forceinline__ void load(Fragments& to, const typename G::Stage& stage, int place_a, int place_b,
                                       int step) const {
#pragma unroll
    for (int i = 0; i < G::kRowsOf16; ++i) TileA::load(to.a[i], stage.a, place_a, i, step);
#pragma unroll
    for (int j = 0; j < G::kColumnsOf16; ++j) TileB::load(to.b[j], stage.b, place_b, j, step);
  }

  __device__ __forceinline__ void multiply(const Fragments& fragments) {
#pragma unroll
    for (int i = 0; i < G::kRowsOf16; ++i) {
#pragma unroll
      for (int j = 0; j < G::kColumnsOf16 * 2; ++j) {
        const u32(&pair)[4] = fragments.b[j / 2];
        const u32 b[2] = {pair[j % 2 * 2], pair[j % 2 * 2 + 1]};
        mma<T>(sums[i * G::kColumnsOf16 * 2 + j], fragments.a[i], b);
      }
    }
  }

  // Sums over the `blocks` blocks of k of the copies.
  template <class CopyA, class CopyB>
  __device__ __forceinline__ void compute(typename G::Storage& storage, CopyA copy_a, CopyB copy_b, u32 blocks) {
#pragma unroll
    for (auto& four : sums) four[0] = four[1] = four[2] = four[3] = 0.0f;

    // Fill all stages but one.
    u32 copied = 0;
#pragma unroll
    for (; copied < G::kStages - 1; ++copied) {
      if (copied < blocks) {
        copy_a.load(storage.stages[copied].a);
        copy_b.load(storage.stages[copied].b);
      }
      ptx::cp_async_commit();
    }

    const int place_a = TileA::lane_place(row, lane), place_b = TileB::lane_place(column, lane);
    int from = 0, to = G::kStages - 1;
#pragma unroll 1
    for (u32 block = 0; block < blocks; ++block) {
      // This stage is full, and all threads have read the previous one: refill that.
      ptx::cp_async_wait<G::kStages - 2>();
      __syncthreads();
      const typename G::Stage& stage = storage.stages[from];
      Fragments fragments[2];
      load(fragments[0], stage, place_a, place_b, 0);
      if (block + G::kStages - 1 < blocks) {
        copy_a.load(storage.stages[to].a);
        copy_b.load(storage.stages[to].b);
      }
      ptx::cp_async_commit();
      // Load the next step's fragments while this step is multiplied.
#pragma unroll
      for (int step = 0; step < TileA::kSteps; ++step) {
        if (step + 1 < TileA::kSteps) load(fragments[(step + 1) % 2], stage, place_a, place_b, step + 1);
        multiply(fragments[step % 2]);
      }
      from = from + 1 == G::kStages ? 0 : from + 1;
      to = to + 1 == G::kStages ? 0 : to + 1;
    }
    // Free shared memory for other use.
    ptx::cp_async_wait<0>();
    __syncthreads();
  }

  // Stores the sums of the tile at `first_row` and `first_column`, N neighbours a lane. `out` is the warp's own.
  template <int N>
  __device__ __forceinline__ void store(const Output<Config>& output, float* out, i64 first_row,
                                        i64 first_column) const {
    constexpr int kOfRow = G::kWarpN / N;
    const int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int i = 0; i < G::kRowsOf16; ++i) {
#pragma unroll
      for (int j = 0; j < G::kColumnsOf16 * 2; ++j) {
        const float(&four)[4] = sums[i * G::kColumnsOf16 * 2 + j];
        float* const to = out + g * G::kOutPitch + j * 8 + t * 2;
        store_vector(to, Vector<float, 2>{{four[0], four[1]}});
        store_vector(to + 8 * G::kOutPitch, Vector<float, 2>{{four[2], four[3]}});
      }
      __syncwarp();
#pragma unroll 2
      for (int unit = lane; unit < 16 * kOfRow; unit += kWarpSize) {
        const int of_row = unit / kOfRow, of_column = unit % kOfRow * N;
        const auto values = load_vector<N>(out + of_row * G::kOutPitch + of_column);
        const i64 at_row = first_row + row + i * 16 + of_row, at_column = first_column + column + of_column;
        float finished[N];
#pragma unroll
        for (int e = 0; e < N; ++e) finished[e] = values[e];
        if (at_row < output.m && at_column < output.n) output.store(finished, at_row, at_column);
      }
      __syncwarp();
    }
  }
};

}  // namespace tilewright::gemm

// One block per SM suffices: for more the compiler would spill.
template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::MmaGeometry<Config>::kThreads, 1)
    gemm_mma(const typename Config::dtype* a, const typename Config::dtype* b, const typename Config::dtype* bias,
             const typename Config::dtype* residual, typename Config::dtype* c, float* partial, unsigned* counters,
             long long m, long long n, long long k) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  using G = MmaGeometry<Config>;
  auto& storage = *shared_storage<typename G::Storage>();
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarpSize;
  const MmaPlace<Config> place(m, n, blockIdx.x);
  const SplitRange range = split_range<Config::split_k>(static_cast<u32>(ceil_div(k, i64{G::kBlockK})), place.split);

  using CopyA = MmaCopy<typename G::TileA, typename G::OperandA, Config::vec, G::kThreads>;
  using CopyB = MmaCopy<typename G::TileB, typename G::OperandB, Config::vec, G::kThreads>;
  MmaWarp<Config> part;
  part.row = warp / G::kWarpsN * G::kWarpM;
  part.column = warp % G::kWarpsN * G::kWarpN;
  part.lane = thread % kWarpSize;
  part.compute(storage, CopyA({a, m, k}, place.row, range.first, thread),
               CopyB({b, n, k}, place.column, range.first, thread), range.count);

  // Compute the place again: kept, it would take registers from the loop above.
  const MmaPlace<Config> again(m, n, static_cast<u32>(ptx::opaque(static_cast<int>(blockIdx.x))));
  if (!Split<Config::split_k, G::kThreads>::sum_up(part.sums, partial, counters, again.tile, again.split, thread,
                                                   &storage.word, [] { __syncthreads(); })) {
    return;
  }
  const Output<Config> output{bias, residual, c, m, n};
  if (output.template allows<4>()) {
    part.template store<4>(output, storage.out[warp], again.row, again.column);
  } else {
    part.template store<1>(output, storage.out[warp], again.row, again.column);
  }
}
