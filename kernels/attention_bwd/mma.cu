// SPDX-License-Identifier: Apache-2.0
//
// attention_bwd by mma.sync: delta = do·o of all queries, then the gradients of keys, then those of queries
// (tiles.cuh). Rows of tensors start at multiples of 16 bytes.
//
//   delta  f32 [b, hq, sq]

#include "device/reduce.cuh"
#include "tiles.cuh"

template <class Config>
__global__ void __launch_bounds__(128)
    attention_bwd_delta(const typename Config::dtype* o, const typename Config::dtype* d_o, float* delta,
                        long long o_batch, long long o_token, long long o_head, long long do_batch, long long do_token,
                        long long do_head, long long b, long long hq, long long sq, long long d_v) {
  using namespace tilewright;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 row = static_cast<i64>(blockIdx.x) * 4 + threadIdx.x / kWarpSize;
  if (row >= b * hq * sq) return;
  const i64 query = row % sq, head = row / sq % hq, batch = row / sq / hq;
  const typename Config::dtype* const of_o = o + batch * o_batch + query * o_token + head * o_head;
  const typename Config::dtype* const of_do = d_o + batch * do_batch + query * do_token + head * do_head;
  float sum = 0.0f;
  for (i64 i = lane; i < d_v; i += kWarpSize) sum += to_float(of_o[i]) * to_float(of_do[i]);
  sum = reduce_lanes<kWarpSize>(sum, Sum());
  if (lane == 0) delta[row] = sum;
}

template <class Config>
__global__ void __launch_bounds__(128)
    attention_bwd_keys(const typename Config::dtype* q, const typename Config::dtype* k,
                       const typename Config::dtype* v, const typename Config::dtype* d_o, const float* lse,
                       const float* delta, typename Config::dtype* dk, typename Config::dtype* dv, float scale,
                       int left, int right, float softcap, long long q_batch, long long q_token, long long q_head,
                       long long k_batch, long long k_token, long long k_head, long long v_batch, long long v_token,
                       long long v_head, long long do_batch, long long do_token, long long do_head, long long dk_batch,
                       long long dk_token, long long dk_head, long long dv_batch, long long dv_token, long long dv_head,
                       long long b, long long hq, long long hkv, long long sq, long long sk, long long d,
                       long long d_v) {
  using namespace tilewright;
  using T = typename Config::dtype;
  const attention::Reach reach = attention::reach_of<Config>(left, right);
  const attention::BackwardCall<T, T> call{{q, q_batch, q_token, q_head},
                                           {k, k_batch, k_token, k_head},
                                           {v, v_batch, v_token, v_head},
                                           {},
                                           {d_o, do_batch, do_token, do_head},
                                           lse,
                                           {},
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
  attention::gradients_of_keys<Config, true, !attention::BackwardGeometry<Config>::kApart>(call, delta);
}

// dv of wide heads, whose dk alone fills the registers of attention_bwd_keys.
template <class Config>
__global__ void __launch_bounds__(128)
    attention_bwd_values(const typename Config::dtype* q, const typename Config::dtype* k,
                         const typename Config::dtype* d_o, const float* lse, typename Config::dtype* dv, float scale,
                         int left, int right, float softcap, long long q_batch, long long q_token, long long q_head,
                         long long k_batch, long long k_token, long long k_head, long long do_batch, long long do_token,
                         long long do_head, long long dv_batch, long long dv_token, long long dv_head, long long b,
                         long long hq, long long hkv, long long sq, long long sk, long long d, long long d_v) {
  using namespace tilewright;
  using T = typename Config::dtype;
  const attention::Reach reach = attention::reach_of<Config>(left, right);
  const attention::BackwardCall<T, T> call{{q, q_batch, q_token, q_head},
                                           {k, k_batch, k_token, k_head},
                                           {},
                                           {},
                                           {d_o, do_batch, do_token, do_head},
                                           lse,
                                           {},
                                           {},
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
  attention::gradients_of_keys<Config, false, true>(call, nullptr);
}

template <class Config>
__global__ void __launch_bounds__(128)
    attention_bwd_queries(const typename Config::dtype* q, const typename Config::dtype* k,
                          const typename Config::dtype* v, const typename Config::dtype* d_o, const float* lse,
                          const float* delta, typename Config::dtype* dq, float scale, int left, int right,
                          float softcap, long long q_batch, long long q_token, long long q_head, long long k_batch,
                          long long k_token, long long k_head, long long v_batch, long long v_token, long long v_head,
                          long long do_batch, long long do_token, long long do_head, long long dq_batch,
                          long long dq_token, long long dq_head, long long b, long long hq, long long hkv, long long sq,
                          long long sk, long long d, long long d_v) {
  using namespace tilewright;
  using T = typename Config::dtype;
  const attention::Reach reach = attention::reach_of<Config>(left, right);
  const attention::BackwardCall<T, T> call{{q, q_batch, q_token, q_head},
                                           {k, k_batch, k_token, k_head},
                                           {v, v_batch, v_token, v_head},
                                           {},
                                           {d_o, do_batch, do_token, do_head},
                                           lse,
                                           {dq, dq_batch, dq_token, dq_head},
                                           {},
                                           {},
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
  attention::gradients_of_queries<Config>(call, delta);
}
