// SPDX-License-Identifier: Apache-2.0
//
// attention_varlen: attention within each of many sequences that stand one behind the other. Sequence b has the queries
// cu_q[b] … cu_q[b + 1] - 1 and the keys cu_k[b] … cu_k[b + 1] - 1; masks are on its own diagonal. Rows behind the last
// sequence are left alone.
//
//   q [tokens_q, hq, d]  k [tokens_k, hkv, d]  v [tokens_k, hkv, dv]  cu_q, cu_k [batch + 1]  o [tokens_q, hq, dv]
//   lse f32 [hq, tokens_q]
//
// Here are the reference and the base, both with a warp a row of queries.

#include "attention/plain_row.cuh"
#include "attention/sampled.cuh"
#include "sequences.cuh"

namespace tilewright::attention {

// Calls `work` with a row's head and token, the first key of its sequence, and which of the sequence's keys it sees: from
// first to behind last.
template <class Config, class Work>
__device__ __forceinline__ void for_each_varlen_row(const i32* cu_q, const i32* cu_k, i64 batches, i64 heads, i32 left,
                                                    i32 right, const Work& work) {
  const i64 warps = static_cast<i64>(gridDim.x) * (blockDim.x / kWarpSize), tokens = cu_q[batches];
  i64 row = static_cast<i64>(blockIdx.x) * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  for (; row < heads * tokens; row += warps) {
    const i64 head = row / tokens, token = row % tokens, batch = sequence_with(cu_q, batches, token);
    const i64 keys = cu_k[batch + 1] - cu_k[batch], queries = cu_q[batch + 1] - cu_q[batch];
    const i64 diagonal = token - cu_q[batch] + keys - queries;
    i64 first = 0, last = keys;
    if (Config::causal == "yes" && last > diagonal + 1) last = diagonal + 1;
    if (Config::window == "yes") {
      if (left >= 0 && first < diagonal - left) first = diagonal - left;
      if (right >= 0 && last > diagonal + right + 1) last = diagonal + right + 1;
    }
    work(head, token, i64{cu_k[batch]}, first, last);
  }
}

}  // namespace tilewright::attention

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    attention_varlen_simple(const typename Config::dtype* q, const typename Config::dtype* k,
                            const typename Config::dtype* v, const int* cu_q, const int* cu_k,
                            typename Config::dtype* o, float* lse, float scale, int left, int right, float softcap,
                            long long q_token, long long q_head, long long k_token, long long k_head, long long v_token,
                            long long v_head, long long o_token, long long o_head, long long batch, long long tokens_q,
                            long long tokens_k, long long hq, long long hkv, long long d, long long dv) {
  using namespace tilewright;
  using namespace tilewright::attention;
  using T = typename Config::dtype;
  const RowScale row{scale, softcap, d, dv};
  for_each_varlen_row<Config>(
      cu_q, cu_k, batch, hq, left, right, [&](i64 head, i64 token, i64 first_key, i64 first, i64 last) {
        const i64 key_head = head / (hq / hkv);
        attend_plainly<Config, T>(
            row, q + token * q_token + head * q_head,
            [&](i64 j) { return k + (first_key + j) * k_token + key_head * k_head; },
            [&](i64 j) { return v + (first_key + j) * v_token + key_head * v_head; }, first, last,
            o + token * o_token + head * o_head, Config::lse == "yes" ? lse + head * tokens_q + token : nullptr);
      });
}

template <class Config>
__global__ void attention_varlen_reference(const typename Config::dtype* q, const typename Config::dtype* k,
                                           const typename Config::dtype* v, const int* cu_q, const int* cu_k, double* o,
                                           double* lse, float scale, int left, int right, float softcap,
                                           long long q_token, long long q_head, long long k_token, long long k_head,
                                           long long v_token, long long v_head, long long o_token, long long o_head,
                                           long long batch, long long tokens_q, long long tokens_k, long long hq,
                                           long long hkv, long long d, long long dv) {
  using namespace tilewright;
  using namespace tilewright::attention;
  using T = typename Config::dtype;
  const RowScale row{scale, softcap, d, dv};
  for_each_varlen_row<Config>(
      cu_q, cu_k, batch, hq, left, right, [&](i64 head, i64 token, i64 first_key, i64 first, i64 last) {
        const i64 of_sequence = sequence_with(cu_q, batch, token);
        const i64 first_query = cu_q[of_sequence], queries = cu_q[of_sequence + 1] - first_query;
        if (!is_sampled_row(head * tokens_q + token, hq * tokens_q, token - first_query, queries, tokens_k / batch)) {
          return;
        }
        const i64 key_head = head / (hq / hkv);
        attend_in_doubles<Config, T>(
            row, q + token * q_token + head * q_head,
            [&](i64 j) { return k + (first_key + j) * k_token + key_head * k_head; },
            [&](i64 j) { return v + (first_key + j) * v_token + key_head * v_head; }, first, last,
            o + token * o_token + head * o_head, Config::lse == "yes" ? lse + head * tokens_q + token : nullptr);
      });
}
