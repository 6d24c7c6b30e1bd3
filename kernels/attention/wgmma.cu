// SPDX-License-Identifier: Apache-2.0
//
// attention on Hopper's tensor cores: o = softmax(mask(scale · q kᵀ)) v, and lse. Two warps copy queries, keys and
// values into rings by tensor maps. Each consumer warpgroup has 64 rows, with their scores, weights and results in
// registers. A column of ones beside the values makes the product add up the weights. Blocks are persistent and take
// piece after piece. docs/kernels/attention.md.
//
//   map_q  [d, hq, sq, b], boxes of 128 bytes × pack × block_m / pack × 1
//   map_k  [d, hkv, sk, b], map_v  [dv, hkv, sk, b], boxes of 128 bytes × 1 × block_n × 1; all swizzled by 128 bytes
//   o      at multiples of 8 bytes; lse f32 [b, hq, sq]

#include "wgmma_dense.cuh"

template <class Config>
__global__ void __launch_bounds__(tilewright::attention::Geometry<Config>::kThreads, 1)
    attention_wgmma(const __grid_constant__ tilewright::TensorMap map_q,
                    const __grid_constant__ tilewright::TensorMap map_k,
                    const __grid_constant__ tilewright::TensorMap map_v, typename Config::dtype* o, float* lse,
                    float scale, int left, int right, float softcap, unsigned* counters, long long b, long long hq,
                    long long hkv, long long sq, long long sk, long long dv, long long sections, long long o_batch,
                    long long o_token, long long o_head) {
  using namespace tilewright::attention;
  attend<Config, DensePieces<Config>>(map_q, map_k, map_v, o, lse, scale, left, right, softcap, counters, b, hq, hkv,
                                      sq, sk, dv, sections, o_batch, o_token, o_head);
}
