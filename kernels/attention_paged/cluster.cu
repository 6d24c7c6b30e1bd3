// SPDX-License-Identifier: Apache-2.0
//
// attention_paged by clusters, one for each pack of rows: attention_decode/cluster.cuh. in_page as in calls.cuh.

#include "attention_decode/calls.cuh"
#include "attention_decode/cluster.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    attention_paged_cluster(const typename Config::dtype* q, const typename Config::dtype* k_pool,
                            const typename Config::dtype* v_pool, const int* table, const int* lengths,
                            typename Config::dtype* o, float* lse, float scale, int left, float softcap,
                            long long q_batch, long long q_token, long long q_head, long long k_page, long long k_token,
                            long long k_head, long long v_page, long long v_token, long long v_head, long long o_batch,
                            long long o_token, long long o_head, long long batch, long long hq, long long hkv,
                            long long sq, long long max_pages, long long page, long long d) {
  using namespace tilewright::attention;
  const auto all = of_pages<Config>(q, k_pool, v_pool, table, lengths, o, lse, nullptr, nullptr, scale, left, softcap,
                                    q_batch, q_token, q_head, k_page, k_token, k_head, v_page, v_token, v_head, o_batch,
                                    o_token, o_head, batch, hq, hkv, sq, max_pages, page, d);
  decode_by_clusters<Config>(all.arguments, all.call, all.cache, all.scale);
}
