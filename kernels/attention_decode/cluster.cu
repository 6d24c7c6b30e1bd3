// SPDX-License-Identifier: Apache-2.0
//
// attention_decode by clusters, a pack of rows each: cluster.cuh.
//
//   q [batch, sq, hq, d]  k [batch, sk, hkv, d]  v [batch, sk, hkv, dv]  lengths [batch]  o [batch, sq, hq, dv]

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
  using namespace tilewright;
  using namespace tilewright::attention;
  using T = typename Config::dtype;
  const DecodeCall call = make_decode_call(lengths, batch, hq, hkv, sq, sk, left);
  const DenseCache<T> cache{{k, k_batch, k_token, k_head}, {v, v_batch, v_token, v_head}};
  const SplitArguments<Config> arguments{{q, q_batch, q_token, q_head}, {o, o_batch, o_token, o_head}, lse, nullptr,
                                         static_cast<i32>(d),           static_cast<i32>(dv)};
  decode_by_clusters<Config>(arguments, call, cache, make_scale<SplitGeometry<Config>::kSoftcap>(scale, softcap));
}
