// SPDX-License-Identifier: Apache-2.0
//
// attention_varlen on Hopper's tensor cores: the kernel of attention/wgmma.cu, whose pieces are of many sequences. A
// first kernel puts the sequences in order, the longest first; the second one takes piece after piece.
// docs/kernels/attention.md.
//
//   map_q  [d, hq, tokens_q], map_k  [d, hkv, tokens_k], map_v  [dv, hkv, tokens_k]: boxes of 128 bytes × 1 × rows,
//          swizzled by 128 bytes
//   plan   Planned [batch + 1]

#include "wgmma_consume.cuh"
#include "wgmma_load.cuh"
#include "wgmma_plan.cuh"

namespace tilewright::attention {

template <class Config>
__device__ __forceinline__ void run_packed(const TensorMap& map_q, const TensorMap& map_k, const TensorMap& map_v,
                                           const PackedOutput<typename Config::dtype>& out, const PackedCall& packed,
                                           const Planned* plan, const Scale& scale, const Counters& counters) {
  using G = Geometry<Config>;
  static_assert(G::kPack == 1, "a block has rows of one head");
  auto& storage = *shared_storage<typename G::Storage>();
  const int thread = static_cast<int>(threadIdx.x);
  // The same in all lanes, and known to be.
  const int warp = __shfl_sync(kFullMask, thread / kWarpSize, 0);
  constexpr int kWarps = G::kWarpgroup / kWarpSize;

  // The rings.
  if (thread == 0) {
    ptx::prefetch_map(map_q);
    ptx::prefetch_map(map_k);
    ptx::prefetch_map(map_v);
    ptx::mbarrier_init(&Beside<Config>::of(storage).tail, 1);
    for (int stage = 0; stage < G::kQueryStages; ++stage) {
      ptx::mbarrier_init(&storage.full_q[stage], 1);
      ptx::mbarrier_init(&storage.empty_q[stage], G::kConsumers * kWarps + 1);  // and the warp that copies values
    }
    for (int stage = 0; stage < G::kStages; ++stage) {
      ptx::mbarrier_init(&storage.full_k[stage], 1);
      ptx::mbarrier_init(&storage.empty_k[stage], G::kConsumers * kWarps);
      ptx::mbarrier_init(&storage.full_v[stage], 1);
      ptx::mbarrier_init(&storage.empty_v[stage], G::kConsumers * kWarps);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (warp < kWarps) {
    if constexpr (G::kConsumers > 1) ptx::release_registers<G::kProducerRegisters>();
    const int lane = thread % kWarpSize;
    if (warp == 0) {
      ptx::grid_dependency_wait();
      load_queries_and_keys<Config>(storage, map_q, map_k, packed, plan, counters, lane);
    }
    if (warp == 1) load_values<Config>(storage, map_v, packed, lane);
  } else {
    if constexpr (G::kConsumers > 1) ptx::acquire_registers<G::kConsumerRegisters>();
    if constexpr (G::kOnes) place_ones<Config>(storage, thread - G::kWarpgroup);
    consume_packed<Config>(storage, out, scale, warp / kWarps - 1, thread % G::kWarpgroup);
  }
}

}  // namespace tilewright::attention

template <class Config>
__global__ void __launch_bounds__(tilewright::attention::kPlanThreads)
    attention_varlen_plan(const int* cu_q, const int* cu_k, int* plan, long long batch, long long hq, long long hkv,
                          long long keys_in_l2, long long two_waves) {
  using namespace tilewright;
  using namespace tilewright::attention;
  ptx::grid_launch_dependents();
  plan_sequences<Config>(cu_q, cu_k, reinterpret_cast<Planned*>(plan), static_cast<i32>(batch), static_cast<i32>(hq),
                         static_cast<i32>(hkv), static_cast<i32>(keys_in_l2), static_cast<i32>(two_waves));
}

// `counters` are two, and zero.
template <class Config>
__global__ void __launch_bounds__(tilewright::attention::Geometry<Config>::kThreads, 1)
    attention_varlen_wgmma(const __grid_constant__ tilewright::TensorMap map_q,
                           const __grid_constant__ tilewright::TensorMap map_k,
                           const __grid_constant__ tilewright::TensorMap map_v, typename Config::dtype* o, float* lse,
                           float scale, int left, int right, float softcap, unsigned* counters, int* plan,
                           long long batch, long long hq, long long hkv, long long tokens_q, long long dv,
                           long long o_token, long long o_head) {
  using namespace tilewright;
  using namespace tilewright::attention;
  const PackedCall packed{static_cast<i32>(batch), static_cast<i32>(hq), static_cast<i32>(hkv), left, right};
  const PackedOutput<typename Config::dtype> out{o, lse, o_token, o_head, tokens_q, static_cast<i32>(dv)};
  run_packed<Config>(map_q, map_k, map_v, out, packed, reinterpret_cast<const Planned*>(plan),
                     make_scale<Geometry<Config>::kSoftcap>(scale, softcap), Counters{counters});
}
