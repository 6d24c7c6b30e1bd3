// SPDX-License-Identifier: Apache-2.0
//
// attention_decode: the last sq tokens of sequences of different lengths attend to all tokens before them. Query i of a
// sequence of n tokens sees key j if j <= i + n - sq and, in a window, -left <= j - (i + n - sq). Scores, softcap,
// heads and rows without a key are those of attention. Keys from n on do not affect the results.
//
//   q [batch, sq, hq, d]  k [batch, sk, hkv, d]  v [batch, sk, hkv, dv]  lengths [batch]  o [batch, sq, hq, dv]
//   lse f32 [batch, hq, sq]
//
// This file has the reference and the base.

#include "plain.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    attention_decode_simple(const typename Config::dtype* q, const typename Config::dtype* k,
                            const typename Config::dtype* v, const int* lengths, typename Config::dtype* o, float* lse,
                            float scale, int left, int right, float softcap, long long q_batch, long long q_token,
                            long long q_head, long long k_batch, long long k_token, long long k_head, long long v_batch,
                            long long v_token, long long v_head, long long o_batch, long long o_token, long long o_head,
                            long long batch, long long hq, long long hkv, long long sq, long long sk, long long d,
                            long long dv) {
  using namespace tilewright;
  using T = typename Config::dtype;
  const attention::Decoding call{lengths, left, batch, hq, hkv, sq, sk, {scale, softcap, d, dv}};
  const attention::DenseCache<T> cache{{k, k_batch, k_token, k_head}, {v, v_batch, v_token, v_head}};
  attention::decode_plainly<Config, T>(call, {q, q_batch, q_token, q_head}, cache, {o, o_batch, o_token, o_head}, lse);
}

template <class Config>
__global__ void attention_decode_reference(const typename Config::dtype* q, const typename Config::dtype* k,
                                           const typename Config::dtype* v, const int* lengths, double* o, double* lse,
                                           float scale, int left, int right, float softcap, long long q_batch,
                                           long long q_token, long long q_head, long long k_batch, long long k_token,
                                           long long k_head, long long v_batch, long long v_token, long long v_head,
                                           long long o_batch, long long o_token, long long o_head, long long batch,
                                           long long hq, long long hkv, long long sq, long long sk, long long d,
                                           long long dv) {
  using namespace tilewright;
  using T = typename Config::dtype;
  const attention::Decoding call{lengths, left, batch, hq, hkv, sq, sk, {scale, softcap, d, dv}};
  const attention::DenseCache<T> cache{{k, k_batch, k_token, k_head}, {v, v_batch, v_token, v_head}};
  attention::decode_in_doubles<Config, T>(call, {q, q_batch, q_token, q_head}, cache, {o, o_batch, o_token, o_head},
                                          lse);
}
