// SPDX-License-Identifier: Apache-2.0
//
// attention on Hopper's tensor cores under a mask: as wgmma.cu, but blocks take pieces as late as they can
// (wgmma_load.cuh).

#include "wgmma_dense.cuh"

template <class Config>
__global__ void __launch_bounds__(tilewright::attention::Geometry<Config>::kThreads, 1)
    attention_wgmma_late(const __grid_constant__ tilewright::TensorMap map_q,
                         const __grid_constant__ tilewright::TensorMap map_k,
                         const __grid_constant__ tilewright::TensorMap map_v, typename Config::dtype* o, float* lse,
                         float scale, int left, int right, float softcap, unsigned* counters, long long b, long long hq,
                         long long hkv, long long sq, long long sk, long long dv, long long sections, long long o_batch,
                         long long o_token, long long o_head) {
  using namespace tilewright::attention;
  attend<Config, DensePieces<Config, true>>(map_q, map_k, map_v, o, lse, scale, left, right, softcap, counters, b, hq,
                                            hkv, sq, sk, dv, sections, o_batch, o_token, o_head);
}
