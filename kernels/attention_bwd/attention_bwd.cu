// SPDX-License-Identifier: Apache-2.0
//
// attention_bwd: the gradients of attention, of a loss whose gradient by o is do. dk and dv are sums over the query
// heads of a key head's group. Rows of queries with lse = -inf, which see no key, have dq = 0 and add nothing.
// plain.cuh has the formulas.
//
//   q, dq [b, sq, hq, d]  k, dk [b, sk, hkv, d]  v, dv [b, sk, hkv, dv]  o, do [b, sq, hq, dv]  lse f32 [b, hq, sq]
//
// This file has the reference and the base.

#include "plain.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    attention_bwd_simple(const typename Config::dtype* q, const typename Config::dtype* k,
                         const typename Config::dtype* v, const typename Config::dtype* o,
                         const typename Config::dtype* d_o, const float* lse, typename Config::dtype* dq,
                         typename Config::dtype* dk, typename Config::dtype* dv, float scale, int left, int right,
                         float softcap, long long q_batch, long long q_token, long long q_head, long long k_batch,
                         long long k_token, long long k_head, long long v_batch, long long v_token, long long v_head,
                         long long o_batch, long long o_token, long long o_head, long long do_batch, long long do_token,
                         long long do_head, long long dq_batch, long long dq_token, long long dq_head,
                         long long dk_batch, long long dk_token, long long dk_head, long long dv_batch,
                         long long dv_token, long long dv_head, long long b, long long hq, long long hkv, long long sq,
                         long long sk, long long d, long long d_v) {
  using namespace tilewright;
  using T = typename Config::dtype;
  const attention::Reach reach = attention::reach_of<Config>(left, right);
  const attention::BackwardCall<T, T> call{{q, q_batch, q_token, q_head},
                                           {k, k_batch, k_token, k_head},
                                           {v, v_batch, v_token, v_head},
                                           {o, o_batch, o_token, o_head},
                                           {d_o, do_batch, do_token, do_head},
                                           lse,
                                           {dq, dq_batch, dq_token, dq_head},
                                           {dk, dk_batch, dk_token, dk_head},
                                           {dv, dv_batch, dv_token, dv_head},
                                           scale,
                                           softcap,
                                           b,
                                           hq,
                                           hkv,
                                           sq,
                                           sk,
                                           d,
                                           d_v,
                                           reach.first,
                                           reach.last};
  attention::gradients_plainly<Config, float, false>(call);
}

template <class Config>
__global__ void attention_bwd_reference(
    const typename Config::dtype* q, const typename Config::dtype* k, const typename Config::dtype* v,
    const typename Config::dtype* o, const typename Config::dtype* d_o, const float* lse, double* dq, double* dk,
    double* dv, float scale, int left, int right, float softcap, long long q_batch, long long q_token, long long q_head,
    long long k_batch, long long k_token, long long k_head, long long v_batch, long long v_token, long long v_head,
    long long o_batch, long long o_token, long long o_head, long long do_batch, long long do_token, long long do_head,
    long long dq_batch, long long dq_token, long long dq_head, long long dk_batch, long long dk_token,
    long long dk_head, long long dv_batch, long long dv_token, long long dv_head, long long b, long long hq,
    long long hkv, long long sq, long long sk, long long d, long long d_v) {
  using namespace tilewright;
  using T = typename Config::dtype;
  const attention::Reach reach = attention::reach_of<Config>(left, right);
  const attention::BackwardCall<T, double> call{{q, q_batch, q_token, q_head},
                                                {k, k_batch, k_token, k_head},
                                                {v, v_batch, v_token, v_head},
                                                {o, o_batch, o_token, o_head},
                                                {d_o, do_batch, do_token, do_head},
                                                lse,
                                                {dq, dq_batch, dq_token, dq_head},
                                                {dk, dk_batch, dk_token, dk_head},
                                                {dv, dv_batch, dv_token, dv_head},
                                                scale,
                                                softcap,
                                                b,
                                                hq,
                                                hkv,
                                                sq,
                                                sk,
                                                d,
                                                d_v,
                                                reach.first,
                                                reach.last};
  attention::gradients_plainly<Config, double, true>(call);
}
