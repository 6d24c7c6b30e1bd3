// SPDX-License-Identifier: Apache-2.0
//
// attention_paged: attention_decode with keys and values in pages of a pool. Tokens p · page … of sequence b are in
// page table[b][p]. Table entries behind a sequence's last page, and the pool's other pages, are not read.
//
//   q [batch, sq, hq, d]  k_pool, v_pool [pages, page, hkv, d]  table [batch, max_pages]  lengths [batch]
//   o [batch, sq, hq, d]  lse f32 [batch, hq, sq]
//
// This file has the reference and the base.

#include "attention_decode/plain.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    attention_paged_simple(const typename Config::dtype* q, const typename Config::dtype* k_pool,
                           const typename Config::dtype* v_pool, const int* table, const int* lengths,
                           typename Config::dtype* o, float* lse, float scale, int left, int right, float softcap,
                           long long q_batch, long long q_token, long long q_head, long long k_page, long long k_token,
                           long long k_head, long long v_page, long long v_token, long long v_head, long long o_batch,
                           long long o_token, long long o_head, long long batch, long long hq, long long hkv,
                           long long sq, long long max_pages, long long page, long long d, long long pages) {
  using namespace tilewright;
  using T = typename Config::dtype;
  const attention::Decoding call{lengths, left, batch, hq, hkv, sq, max_pages * page, {scale, softcap, d, d}};
  const attention::Pages<T> cache{{k_pool, k_page, k_token, k_head},
                                  {v_pool, v_page, v_token, v_head},
                                  table,
                                  static_cast<i32>(max_pages),
                                  static_cast<i32>(page)};
  attention::decode_plainly<Config, T>(call, {q, q_batch, q_token, q_head}, cache, {o, o_batch, o_token, o_head}, lse);
}

template <class Config>
__global__ void attention_paged_reference(const typename Config::dtype* q, const typename Config::dtype* k_pool,
                                          const typename Config::dtype* v_pool, const int* table, const int* lengths,
                                          double* o, double* lse, float scale, int left, int right, float softcap,
                                          long long q_batch, long long q_token, long long q_head, long long k_page,
                                          long long k_token, long long k_head, long long v_page, long long v_token,
                                          long long v_head, long long o_batch, long long o_token, long long o_head,
                                          long long batch, long long hq, long long hkv, long long sq,
                                          long long max_pages, long long page, long long d, long long pages) {
  using namespace tilewright;
  using T = typename Config::dtype;
  const attention::Decoding call{lengths, left, batch, hq, hkv, sq, max_pages * page, {scale, softcap, d, d}};
  const attention::Pages<T> cache{{k_pool, k_page, k_token, k_head},
                                  {v_pool, v_page, v_token, v_head},
                                  table,
                                  static_cast<i32>(max_pages),
                                  static_cast<i32>(page)};
  attention::decode_in_doubles<Config, T>(call, {q, q_batch, q_token, q_head}, cache, {o, o_batch, o_token, o_head},
                                          lse);
}
