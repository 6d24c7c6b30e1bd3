// SPDX-License-Identifier: Apache-2.0
//
// attention on Hopper's tensor cores for heads so wide that a block has room for the queries of one piece: as wgmma.cu,
// but less of a piece waits for the next one's queries (wgmma_consume.cuh).

#include "device/ptx/tensor_prefetch.cuh"
#include "wgmma_dense.cuh"

namespace tilewright::attention {

// A piece's first keys do not wait for the single stage of queries. L2 prefetches its queries while the piece before is
// copied.
template <class Config>
__device__ __forceinline__ void load_wide_queries_and_keys(typename Geometry<Config>::Storage& storage,
                                                           const TensorMap& map_q, const TensorMap& map_k,
                                                           const Problem& problem, const Counters& counters) {
  using G = Geometry<Config>;
  static_assert(G::kQueryStages == 1, "one stage of queries");
  const Order<Config> order(problem);
  const i32 group = problem.heads / problem.key_heads;
  Ring<G::kStages> keys;
  u32 index = blockIdx.x;
  for (u32 piece = 0;; ++piece) {
    const auto wait_for_place = [&] { ptx::mbarrier_wait(storage.empty_q, (piece & 1) ^ 1); };
    if (index >= order.pieces) {
      wait_for_place();
      storage.work[piece % G::kWorks].is_end = 1;
      ptx::mbarrier_arrive(storage.full_q);
      break;
    }
    const Work work = order.work(problem, index);
    // The counter's answer arrives while this piece is copied.
    const u32 next = counters.take();

    const i32 key_head = work.head / group;
    const auto load_keys = [&](i32 block) {
      copy_keys<Config>(storage, keys, map_k, key_head, block, work.batch);
      keys.advance();
    };
    load_keys(work.last_block);
    wait_for_place();
    storage.work[piece % G::kWorks] = work;
    ptx::mbarrier_arrive_expect_tx(&storage.full_q[0], G::kBytesQ);
    copy_parts<Config, G::kParts>(storage.q[0], G::kNextOfQueries, map_q,
                                  ptx::BoxCorner{0, work.head, work.row / G::kPack, work.batch}, &storage.full_q[0]);
    if (next < order.pieces) {
      const Work after = order.work(problem, next);
#pragma unroll
      for (int part = 0; part < G::kParts; ++part) {
        ptx::tensor_prefetch(map_q, {part * G::kRowElements, after.head, after.row / G::kPack, after.batch});
      }
    }
    for (i32 block = work.last_block - 1; block >= work.first_block; --block) load_keys(block);
    index = next;
  }
  counters.end();
}

template <class Config>
struct WidePieces : DensePieces<Config> {
  enum : bool { kEndsFirst = true };
  using Storage = typename Geometry<Config>::Storage;

  __device__ __forceinline__ void load_queries_and_keys(Storage& storage, const TensorMap& map_q,
                                                        const TensorMap& map_k, int lane) const {
    if (lane == 0) load_wide_queries_and_keys<Config>(storage, map_q, map_k, this->of_all, this->counters);
  }
};

}  // namespace tilewright::attention

template <class Config>
__global__ void __launch_bounds__(tilewright::attention::Geometry<Config>::kThreads, 1)
    attention_wgmma_wide(const __grid_constant__ tilewright::TensorMap map_q,
                         const __grid_constant__ tilewright::TensorMap map_k,
                         const __grid_constant__ tilewright::TensorMap map_v, typename Config::dtype* o, float* lse,
                         float scale, int left, int right, float softcap, unsigned* counters, long long b, long long hq,
                         long long hkv, long long sq, long long sk, long long dv, long long sections, long long o_batch,
                         long long o_token, long long o_head) {
  using namespace tilewright::attention;
  attend<Config, WidePieces<Config>>(map_q, map_k, map_v, o, lse, scale, left, right, softcap, counters, b, hq, hkv, sq,
                                     sk, dv, sections, o_batch, o_token, o_head);
}
