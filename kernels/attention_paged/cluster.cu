// SPDX-License-Identifier: Apache-2.0
//
// attention_paged by clusters, a pack of rows each: attention_decode/cluster.cuh. in_page as in split.cu.

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
  using namespace tilewright;
  using namespace tilewright::attention;
  using T = typename Config::dtype;
  const DecodeCall call = make_decode_call(lengths, batch, hq, hkv, sq, max_pages * page, left);
  const PagedCache<T, Config::in_page == 1> cache{{{k_pool, k_page, k_token, k_head},
                                                   {v_pool, v_page, v_token, v_head},
                                                   table,
                                                   static_cast<i32>(max_pages),
                                                   static_cast<i32>(page)}};
  const SplitArguments<Config> arguments{{q, q_batch, q_token, q_head},
                                         {o, o_batch, o_token, o_head},
                                         lse,
                                         nullptr,
                                         static_cast<i32>(d),
                                         static_cast<i32>(d)};
  decode_by_clusters<Config>(arguments, call, cache, make_scale<SplitGeometry<Config>::kSoftcap>(scale, softcap));
}
