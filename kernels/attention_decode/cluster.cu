// SPDX-License-Identifier: Apache-2.0
//
// attention_decode by clusters, one for each pack of rows: cluster.cuh.
//
//   q [batch, sq, hq, d]  k [batch, sk, hkv, d]  v [batch, sk, hkv, dv]  lengths [batch]  o [batch, sq, hq, dv]

#include "calls.cuh"
#include "cluster.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    attention_decode_cluster(const typename Config::dtype* q, const typename Config::dtype* k,
                             const typename Config::dtype* v, const int* lengths, typename Config::dtype* o, float* lse,
                             float scale, int left, float softcap, long long q_batch, long long q_token,
                             long long q_head, long long k_batch, long long k_token, long long k_head,
                             long long v_batch, long long v_token, long long v_head, long long o_batch,
                             long long o_token, long long o_head, long long batch, long long hq, long long hkv,
                             long long sq, long long sk, long long d, long long dv) {
  using namespace tilewright::attention;
  const auto all = of_tensors<Config>(q, k, v, lengths, o, lse, nullptr, nullptr, scale, left, softcap, q_batch,
                                      q_token, q_head, k_batch, k_token, k_head, v_batch, v_token, v_head, o_batch,
                                      o_token, o_head, batch, hq, hkv, sq, sk, d, dv);
  decode_by_clusters<Config>(all.arguments, all.call, all.cache, all.scale);
}
