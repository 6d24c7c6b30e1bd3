// SPDX-License-Identifier: Apache-2.0
//
// attention on Hopper's tensor cores for heads so wide that a block has room for the queries of one piece. As wgmma.cu,
// but each warpgroup has query barriers of its own: while one waits for its next queries and stores, the other has the
// tensor cores. Tiles are placed so that keys of 192 columns have blocks of 128 beside a column of ones
// (wgmma_apart_place.cuh).
//
//   map_q  boxes of 128 bytes × pack × 64 / pack × 1, the rows of a warpgroup; all else as in wgmma.cu

#include "device/ptx/tensor_prefetch.cuh"
#include "wgmma_apart_place.cuh"
#include "wgmma_dense.cuh"

namespace tilewright::attention {

// A warpgroup's products and rings, with query barriers of its own.
template <class Config>
struct Multiplier<Apart<Config>> : Multiplier<Placed<Config>> {
  using Base = Multiplier<Placed<Config>>;

  __device__ __forceinline__ void wait_queries() {
    ptx::mbarrier_wait(&this->storage.full_own_q[this->warpgroup], this->piece & 1);
  }
  __device__ __forceinline__ const unsigned char* own_queries() const {
    return this->storage.queries(0, this->warpgroup) + this->thread / kWarpSize * 16 * Base::G::kRowBytes;
  }
  __device__ __forceinline__ void release_keys(bool queries_too) {
    if (queries_too && this->thread % kWarpSize == 0) {
      ptx::mbarrier_arrive(&this->storage.empty_own_q[this->warpgroup]);
    }
    Base::release_keys(false);
  }
};

// A piece's first keys do not wait for queries, and a warpgroup's queries do not wait for other warpgroups; L2
// prefetches them a block of keys ahead. A block takes its next piece as late as it can (wgmma_load.cuh). A box of
// `map_q` has the rows of a warpgroup.
template <class Config>
__device__ __forceinline__ void load_own_queries_and_keys(typename Geometry<Config>::Storage& storage,
                                                          const TensorMap& map_q, const TensorMap& map_k,
                                                          const Problem& problem, const Counters& counters) {
  using G = Geometry<Config>;
  static_assert(G::kQueryStages == 1, "one stage of queries");
  const Order<Config> order(problem);
  const i32 group = problem.heads / problem.key_heads;
  const auto own_token = [](const Work& work, int warpgroup) {
    return (work.row + warpgroup * G::kWarpgroupRows) / G::kPack;
  };
  Ring<G::kStages> keys;
  u32 index = blockIdx.x;
  for (u32 piece = 0;; ++piece) {
    const auto wait_for_place = [&](int warpgroup) {
      ptx::mbarrier_wait(&storage.empty_own_q[warpgroup], (piece & 1) ^ 1);
    };
    if (index >= order.pieces) {
      storage.work[piece % G::kWorks].is_end = 1;
      for (int warpgroup = 0; warpgroup < G::kConsumers; ++warpgroup) {
        wait_for_place(warpgroup);
        ptx::mbarrier_arrive(&storage.full_own_q[warpgroup]);
      }
      break;
    }
    const Work work = order.work(problem, index);
    storage.work[piece % G::kWorks] = work;
    u32 next = 0;
    const i32 key_head = work.head / group;
    const auto load_keys = [&](i32 block) {
      if (block == work.first_block) next = counters.take();
      copy_keys<Config>(storage, keys, map_k, key_head, block, work.batch);
      keys.advance();
    };
    load_keys(work.last_block);
#pragma unroll 1
    for (int warpgroup = 0; warpgroup < G::kConsumers; ++warpgroup) {
      u64* const full_q = &storage.full_own_q[warpgroup];
      wait_for_place(warpgroup);
      ptx::mbarrier_arrive_expect_tx(full_q, G::kOwnBytesQ);
      copy_parts<Config, G::kParts>(storage.queries(0, warpgroup), G::kNextOfQueries, map_q,
                                    ptx::BoxCorner{0, work.head, own_token(work, warpgroup), work.batch}, full_q);
    }
    for (i32 block = work.last_block - 1; block >= work.first_block; --block) load_keys(block);
    if (next < order.pieces) {
      const Work after = order.work(problem, next);
#pragma unroll 1
      for (int warpgroup = 0; warpgroup < G::kConsumers; ++warpgroup) {
#pragma unroll
        for (int part = 0; part < G::kParts; ++part) {
          ptx::tensor_prefetch(map_q, {part * G::kRowElements, after.head, own_token(after, warpgroup), after.batch});
        }
      }
    }
    index = next;
  }
  counters.end();
}

template <class Config>
__device__ __forceinline__ void load_values_apart(typename Geometry<Config>::Storage& storage, const TensorMap& map_v,
                                                  const Problem& problem) {
  using G = Geometry<Config>;
  const i32 group = problem.heads / problem.key_heads;
  Ring<G::kStages> values;
  for (u32 piece = 0;; ++piece) {
    ptx::mbarrier_wait(&storage.full_own_q[0], piece & 1);
    const Work work = storage.work[piece % G::kWorks];
    if (work.is_end) break;
    ptx::mbarrier_arrive(&storage.empty_own_q[0]);
    const i32 key_head = work.head / group;
    for (i32 block = work.last_block; block >= work.first_block; --block, values.advance()) {
      copy_values<Config>(storage, values, map_v, key_head, block, work.batch);
    }
  }
}

template <class Config>
struct ApartPieces : DensePieces<Config> {
  enum : bool { kEndsFirst = true };
  using G = Geometry<Config>;
  using Storage = typename G::Storage;

  __device__ __forceinline__ void init(Storage& storage) const {
    constexpr int kWarps = G::kWarpgroup / kWarpSize;
    for (int warpgroup = 0; warpgroup < G::kConsumers; ++warpgroup) {
      ptx::mbarrier_init(&storage.full_own_q[warpgroup], 1);
      // The first warpgroup's also counts the warp that copies values.
      ptx::mbarrier_init(&storage.empty_own_q[warpgroup], warpgroup == 0 ? kWarps + 1 : kWarps);
    }
  }
  __device__ __forceinline__ void load_queries_and_keys(Storage& storage, const TensorMap& map_q,
                                                        const TensorMap& map_k, int lane) const {
    if (lane == 0) load_own_queries_and_keys<Config>(storage, map_q, map_k, this->of_all, this->counters);
  }
  __device__ __forceinline__ void load_values(Storage& storage, const TensorMap& map_v, int lane) const {
    if (lane == 0) load_values_apart<Config>(storage, map_v, this->of_all);
  }
};

}  // namespace tilewright::attention

template <class Config>
__global__ void __launch_bounds__(tilewright::attention::Geometry<Config>::kThreads, 1)
    attention_wgmma_apart(const __grid_constant__ tilewright::TensorMap map_q,
                          const __grid_constant__ tilewright::TensorMap map_k,
                          const __grid_constant__ tilewright::TensorMap map_v, typename Config::dtype* o, float* lse,
                          float scale, int left, int right, float softcap, unsigned* counters, long long b,
                          long long hq, long long hkv, long long sq, long long sk, long long dv, long long sections,
                          long long o_batch, long long o_token, long long o_head) {
  using namespace tilewright::attention;
  attend<Apart<Config>, ApartPieces<Apart<Config>>>(map_q, map_k, map_v, o, lse, scale, left, right, softcap, counters,
                                                    b, hq, hkv, sq, sk, dv, sections, o_batch, o_token, o_head);
}
