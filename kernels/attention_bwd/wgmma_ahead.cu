// SPDX-License-Identifier: Apache-2.0
//
// attention_bwd on Hopper's tensor cores: as wgmma.cu, with its first and its last kernel, but a step's dq is
// multiplied while the next step's weights are computed (wgmma_ahead_keys.cuh).

#include "wgmma.cu"
#include "wgmma_ahead_add.cuh"
#include "wgmma_ahead_keys.cuh"

template <class Config>
__global__ void __launch_bounds__(tilewright::attention::BackwardTiles<Config>::kThreads, 1)
    attention_bwd_ahead(const __grid_constant__ tilewright::TensorMap map_q,
                        const __grid_constant__ tilewright::TensorMap map_k,
                        const __grid_constant__ tilewright::TensorMap map_v,
                        const __grid_constant__ tilewright::TensorMap map_do, float* lse2, float* delta, float* sums,
                        unsigned* turns, unsigned* counter, typename Config::dtype* dk, typename Config::dtype* dv,
                        float scale, int left, int right, long long b, long long hq, long long hkv, long long sq,
                        long long sk, long long d, long long d_v, long long together, long long dk_batch,
                        long long dk_token, long long dk_head, long long dv_batch, long long dv_token,
                        long long dv_head) {
  using namespace tilewright;
  using namespace tilewright::attention;
  using G = BackwardTiles<Config>;
  using T = typename G::T;
  auto& storage = *shared_storage<typename G::Storage>();
  const int thread = static_cast<int>(threadIdx.x);
  // The shuffle tells the compiler that all lanes have the same value.
  const int warpgroup = __shfl_sync(kFullMask, thread / G::kWarpgroup, 0);
  const BackwardProblem problem = make_backward_problem<Config>(b, hq, hkv, sq, sk, left, right, together);

  constexpr u32 kWarps = G::kWarpgroup / kWarpSize, kConsumerWarps = G::kConsumers * kWarps;
  if (thread == 0) {
    ptx::prefetch_map(map_q);
    ptx::prefetch_map(map_k);
    ptx::prefetch_map(map_v);
    ptx::prefetch_map(map_do);
    for (int stage = 0; stage < G::kKeyStages; ++stage) {
      ptx::mbarrier_init(&storage.full_k[stage], 1);
      ptx::mbarrier_init(&storage.full_v[stage], 1);
      ptx::mbarrier_init(&storage.empty_keys[stage], kConsumerWarps + (G::kTakes ? G::kAdders : 0));
    }
    for (int stage = 0; stage < G::kStages; ++stage) {
      ptx::mbarrier_init(&storage.full_q[stage], 1);
      ptx::mbarrier_init(&storage.empty_q[stage], kConsumerWarps);
      ptx::mbarrier_init(&storage.full_do[stage], 1);
      ptx::mbarrier_init(&storage.empty_do[stage], kConsumerWarps);
    }
    for (u64& full : storage.full_dx) ptx::mbarrier_init(&full, kConsumerWarps);
    for (int each = 0; each < G::kConsumers; ++each) {
      ptx::mbarrier_init(&storage.full_dq[each], kWarps);
      ptx::mbarrier_init(&storage.empty_dq[each], 1);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (warpgroup == 0) {
    ptx::release_registers<G::kProducerRegisters>();
    if (thread == 0) load_all<Config>(storage, map_q, map_k, map_v, map_do, lse2, delta, counter, problem);
    if (thread % kWarpSize == 0 && thread > 0 && thread <= G::kAdders * kWarpSize) {
      add_shares<Config>(storage, sums, turns, problem, thread / kWarpSize - 1);
    }
  } else {
    ptx::acquire_registers<G::kConsumerRegisters>();
    ptx::grid_dependency_wait();
    const KeyGradient<T> to_dk{dk, dk_batch, dk_token, dk_head, static_cast<i32>(d)};
    const KeyGradient<T> to_dv{dv, dv_batch, dv_token, dv_head, static_cast<i32>(d_v)};
    gradients_ahead<Config>(storage, problem, to_dk, to_dv, scale, warpgroup - 1, thread % G::kWarpgroup);
  }
}
