// SPDX-License-Identifier: Apache-2.0
//
// gemm, c = act(a · b + bias) + residual, for few rows, m ≤ 64: the decode step of a network with weights b, whose time
// is that of reading b once. Operands are swapped: 16 columns of c (rows of bᵀ) are the m of mma, 8 rows of c its n, so
// little is computed in vain.
//
//   a, b   row lengths and addresses are multiples of `vec` bytes: 16, 8, 4 or one element
//   c, bias, residual   any address; by vectors of 4 elements if all allow it
//
// A piece of work is block_n columns of c, all m rows, over one of split_k parts of k. A block takes piece after piece.
// Its copies run `stages` - 1 blocks of k ahead of its products, across the end of a piece, so that as much is in
// flight as fits into shared memory:
//
//   b, a  ── cp.async ──▶  ring of `stages` tiles  ── num_warps warps ──▶  sums in registers
//                          block_k × (block_n + block_m)       each has warp_n of block_n, and a part of block_k
//   sums  ── warps of one part of n added in shared memory ── parts of k added ──▶  c (output.cuh)
//
// Parts of k are added in their order: through the shared memory of a cluster of split_k blocks (`cluster`), or through
// a workspace, by the block that arrives last.
//
// Shared memory: stages · block_k · (block_n + block_m) elements, num_warps · warp_n / block_n · block_m · (block_n +
// 4) floats and a word. sm_80 and later; with clusters sm_90.

#include "device/ptx/cluster.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/ptx/prefetch.cuh"
#include "device/shared.cuh"
#include "mma_copy.cuh"
#include "output.cuh"
#include "skinny_warp.cuh"
#include "split.cuh"

namespace tilewright::gemm {

template <class Config>
struct SkinnyStorage {
  using G = SkinnyGeometry<Config>;
  alignas(1024) typename G::Stage stages[G::kStages];
  alignas(16) float out[G::kWarpsK][G::kBlockM][G::kOutPitch];
  alignas(16) u32 word;
};

// A block's pieces: each gridDim.x-th. Pieces of one tile are neighbours, so they run at the same time and read
// neighbouring memory; with clusters they belong to one cluster.
template <class Config>
struct SkinnyPiece {
  using G = SkinnyGeometry<Config>;
  u32 number, tile, split;
  SplitRange blocks;  // of k

  __device__ __forceinline__ SkinnyPiece(u32 number_, u32 blocks_k)
      : number(number_), tile(number_ / G::kSplits), split(number_ % G::kSplits) {
    blocks = split_range<G::kSplits>(blocks_k, split);
  }
};

// Copies block of k after block of k of all pieces of a block.
template <class Config>
class SkinnyCopies {
  using G = SkinnyGeometry<Config>;
  using T = typename G::T;

 public:
  __device__ __forceinline__ SkinnyCopies(const T* a, const T* b, i64 m, i64 n, i64 k, u32 pieces, int thread)
      : a_{a, m, k},
        b_{b, n, k},
        blocks_k_(static_cast<u32>(ceil_div(k, i64{G::kBlockK}))),
        pieces_(pieces),
        next_(blockIdx.x),
        left_(0),
        thread_(thread),
        activations_(a_, 0, 0, thread),
        weights_(b_, 0, 0, thread) {}

  __device__ __forceinline__ void load(typename G::Stage& stage) {
    if (left_ == 0 && next_ < pieces_) {
      const SkinnyPiece<Config> piece(next_, blocks_k_);
      activations_ = Activations(a_, 0, piece.blocks.first, thread_);
      weights_ = Weights(b_, i64{piece.tile} * G::kBlockN, piece.blocks.first, thread_);
      left_ = piece.blocks.count;
      next_ += gridDim.x;
    }
    if (left_ != 0) {
      weights_.load(stage.weights);
      activations_.load(stage.activations);
      --left_;
    }
    ptx::cp_async_commit();
  }

 private:
  using Activations = MmaCopy<typename G::Activations, typename G::OperandA, Config::vec, G::kThreads>;
  using Weights = MmaCopy<typename G::Weights, typename G::OperandB, Config::vec, G::kThreads>;

  typename G::OperandA a_;
  typename G::OperandB b_;
  u32 blocks_k_, pieces_;
  u32 next_, left_;  // the next piece, and the blocks of k left of this one
  int thread_;
  Activations activations_;
  Weights weights_;
};

// From the warps' sums in shared memory to c, by units of 4 neighbours in n.
template <class Config>
struct SkinnyResults {
  using G = SkinnyGeometry<Config>;
  enum : int {
    kOfRow = G::kBlockN / 4,
    kPart = G::kBlockN * G::kBlockM,
  };

  Output<Config> output;
  int thread;
  int units;  // in the m rows

  __device__ __forceinline__ SkinnyResults(const Output<Config>& output_, int thread_)
      : output(output_), thread(thread_), units(static_cast<int>(output_.m) * kOfRow) {}

  __device__ static __forceinline__ float* at(float (&part)[G::kBlockM][G::kOutPitch], int unit) {
    return &part[unit / kOfRow][unit % kOfRow * 4];
  }

  __device__ __forceinline__ void store(float (&four)[4], int unit, i64 first_column) const {
    const i64 row = unit / kOfRow, column = first_column + unit % kOfRow * 4;
    if (!output.template allows<4>()) {
      output.store_each(four, row, column);
    } else if (column < output.n) {
      output.store(four, row, column);
    }
  }

  // Prefetches the addends of a piece's sums into L2.
  __device__ __forceinline__ void prefetch(const SkinnyPiece<Config>& piece) const {
    using E = Epilogue<Config>;
    if constexpr (!E::kHasBias && !E::kHasResidual) return;
    if (piece.split != 0) return;
    // One address per 32 bytes.
    constexpr int kEach = 8 / static_cast<int>(sizeof(typename G::T));
    for_each_unit([&](int unit) {
      const i64 row = unit / kOfRow, column = i64{piece.tile} * G::kBlockN + unit % kOfRow * 4;
      if (unit % kEach != 0 || column >= output.n) return;
      if (E::kHasBias && row == 0) ptx::prefetch_l2(output.bias + column);
      if (E::kHasResidual) ptx::prefetch_l2(output.residual + row * output.n + column);
    });
  }

  // The sum of a unit over the warps that share it.
  __device__ static __forceinline__ Vector<float, 4> add_warps(SkinnyStorage<Config>& storage, int unit) {
    auto sum = load_vector<4>(at(storage.out[0], unit));
#pragma unroll
    for (int warp = 1; warp < G::kWarpsK; ++warp) {
      const auto four = load_vector<4>(at(storage.out[warp], unit));
#pragma unroll
      for (int j = 0; j < 4; ++j) sum[j] += four[j];
    }
    return sum;
  }

  // Calls `visit` for each of the thread's units.
  template <class Visit>
  __device__ __forceinline__ void for_each_unit(Visit visit) const {
    for (int unit = thread; unit < units; unit += G::kThreads) visit(unit);
  }

  // Finishes each kStride-th unit from `first` on. A unit's sum over part `split` of k is at `part_of(unit, split)`;
  // the loads of several units are in flight at once.
  template <Load How, int kStride, class PartOf>
  __device__ __forceinline__ void add_parts(int first, i64 first_column, PartOf part_of) const {
    constexpr int kOfThread = (kPart / 4 + kStride - 1) / kStride;
    // A load takes 4 registers: 16 loads fit beside the rest if a thread may have 160.
    constexpr int kLoads = G::kThreads * Config::blocks * 160 <= 65536 ? 16 : 8;
    constexpr int kMost = G::kSplits > kLoads ? 1 : kLoads / G::kSplits;
    constexpr int kAtOnce = kOfThread < kMost ? kOfThread : kMost;
#pragma unroll 1
    for (int start = first; start < units; start += kAtOnce * kStride) {
      Vector<float, 4> parts[kAtOnce][G::kSplits];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int unit = start + i * kStride;
        if (unit >= units) break;
#pragma unroll
        for (int split = 0; split < G::kSplits; ++split) parts[i][split] = load_vector<4, How>(part_of(unit, split));
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int unit = start + i * kStride;
        if (unit >= units) break;
        float four[4] = {};
#pragma unroll
        for (int split = 0; split < G::kSplits; ++split) {
#pragma unroll
          for (int j = 0; j < 4; ++j) four[j] += parts[i][split][j];
        }
        store(four, unit, first_column);
      }
    }
  }

  // Each block of the cluster finishes its share of the units.
  __device__ __forceinline__ void finish_in_cluster(SkinnyStorage<Config>& storage, u32 rank, i64 first_column) const {
    if constexpr (G::kWarpsK > 1) {
      for_each_unit([&](int unit) { store_vector(at(storage.out[0], unit), add_warps(storage, unit)); });
    }
    ptx::cluster_sync();
    constexpr int kStride = G::kSplits * G::kThreads;
    add_parts<Load::kDefault, kStride>(
        static_cast<int>(rank) * G::kThreads + thread, first_column,
        [&](int unit, int split) { return ptx::map_shared(at(storage.out[0], unit), static_cast<u32>(split)); });
    // Until all blocks have read, none writes there again or ends.
    ptx::cluster_sync();
  }

  // Each block writes its sums to memory, and the last to arrive finishes all units. It resets the tile's counter to 0.
  __device__ __forceinline__ void finish_through_memory(SkinnyStorage<Config>& storage,
                                                        const SkinnyPiece<Config>& piece, float* partials,
                                                        u32* counters, i64 first_column) const {
    float* const parts = partials + i64{piece.tile} * G::kSplits * kPart;
    for_each_unit([&](int unit) { store_vector(parts + piece.split * kPart + unit * 4, add_warps(storage, unit)); });
    // Publish all parts before counting them.
    __threadfence();
    __syncthreads();
    if (thread == 0) storage.word = atomicInc(&counters[piece.tile], G::kSplits - 1);
    __syncthreads();
    if (storage.word != G::kSplits - 1) return;
    __threadfence();
    add_parts<Load::kStreaming, G::kThreads>(thread, first_column,
                                             [&](int unit, int split) { return parts + split * kPart + unit * 4; });
  }

  // All threads call, after a barrier behind the warps' sums.
  __device__ __forceinline__ void finish(SkinnyStorage<Config>& storage, const SkinnyPiece<Config>& piece,
                                         float* partials, u32* counters) const {
    const i64 first_column = i64{piece.tile} * G::kBlockN;
    if constexpr (G::kSplits == 1) {
      for_each_unit([&](int unit) {
        const auto sum = add_warps(storage, unit);
        float four[4] = {sum[0], sum[1], sum[2], sum[3]};
        store(four, unit, first_column);
      });
    } else if constexpr (Config::cluster == 1) {
      finish_in_cluster(storage, piece.split, first_column);
    } else {
      finish_through_memory(storage, piece, partials, counters, first_column);
    }
  }
};

}  // namespace tilewright::gemm

template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::SkinnyGeometry<Config>::kThreads, Config::blocks)
    gemm_skinny(const typename Config::dtype* a, const typename Config::dtype* b, const typename Config::dtype* bias,
                const typename Config::dtype* residual, typename Config::dtype* c, float* partials, unsigned* counters,
                long long m, long long n, long long k) {
  using namespace tilewright;
  using namespace tilewright::gemm;
  using G = SkinnyGeometry<Config>;
  auto& storage = *shared_storage<SkinnyStorage<Config>>();
  const int thread = static_cast<int>(threadIdx.x);
  const u32 blocks_k = static_cast<u32>(ceil_div(k, i64{G::kBlockK}));
  const u32 pieces = static_cast<u32>(ceil_div(n, i64{G::kBlockN})) * G::kSplits;

  // Fill all stages but one.
  SkinnyCopies<Config> copies(a, b, m, n, k, pieces, thread);
#pragma unroll 1
  for (int stage = 0; stage < G::kStages - 1; ++stage) copies.load(storage.stages[stage]);

  typename G::Warp warp(thread);
  const SkinnyResults<Config> results({bias, residual, c, m, n}, thread);
  int from = 0, to = G::kStages - 1;
#pragma unroll 1
  for (u32 number = blockIdx.x; number < pieces; number += gridDim.x) {
    const SkinnyPiece<Config> piece(number, blocks_k);
    results.prefetch(piece);
    warp.clear();
#pragma unroll 1
    for (u32 block = 0; block < piece.blocks.count; ++block) {
      // This stage is full, and all threads have read the previous one: refill that.
      ptx::cp_async_wait<G::kStages - 2>();
      __syncthreads();
      copies.load(storage.stages[to]);
      warp.multiply(storage.stages[from]);
      from = from + 1 == G::kStages ? 0 : from + 1;
      to = to + 1 == G::kStages ? 0 : to + 1;
    }
    // All threads have read `out`: a piece has at least one block of k, whose barrier came since.
    warp.put(storage.out);
    __syncthreads();
    results.finish(storage, piece, partials, counters);
  }
}
