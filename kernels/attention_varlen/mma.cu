// SPDX-License-Identifier: Apache-2.0
//
// attention_varlen by mma.sync: a block has block_m queries of a head of a sequence, and works with the warps and tiles
// of attention/mma.cu. It finds its queries by cu_q: the grid has as many rows as there can be blocks of queries, and
// surplus blocks end at once.

#include "mma_piece.cuh"

template <class Config>
__global__ void __launch_bounds__(tilewright::attention::MmaGeometry<Config>::kThreads)
    attention_varlen_mma(const typename Config::dtype* q, const typename Config::dtype* k,
                         const typename Config::dtype* v, const int* cu_q, const int* cu_k, typename Config::dtype* o,
                         float* lse, float scale, int left, int right, float softcap, long long q_token,
                         long long q_head, long long k_token, long long k_head, long long v_token, long long v_head,
                         long long o_token, long long o_head, long long batch, long long tokens_q, long long tokens_k,
                         long long hq, long long hkv, long long d, long long dv) {
  using namespace tilewright;
  using namespace tilewright::attention;
  const Sequences<typename Config::dtype> call{q,       k,      v,        cu_q,   cu_k,    o,      lse,
                                               q_token, q_head, k_token,  k_head, v_token, v_head, o_token,
                                               o_head,  batch,  tokens_q, hq,     hkv,     d,      dv};
  run_piece<Config>(call, left, right, make_scale<MmaGeometry<Config>::kSoftcap>(scale, softcap),
                    static_cast<i32>(blockIdx.x), static_cast<i32>(blockIdx.y));
}
