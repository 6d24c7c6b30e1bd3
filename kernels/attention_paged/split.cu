// SPDX-License-Identifier: Apache-2.0
//
// attention_paged by mma.sync, shared out by lengths: attention_decode/split.cuh.
//
//   in_page = 1   what a warp copies at once lies in one page: one look into the table for all of it
//   in_page = 0   any size of a page: one for each row

#include "attention_decode/split.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::per_sm)
    attention_paged_split(const typename Config::dtype* q, const typename Config::dtype* k_pool,
                          const typename Config::dtype* v_pool, const int* table, const int* lengths,
                          typename Config::dtype* o, float* lse, float* parts, float scale, int left, float softcap,
                          long long q_batch, long long q_token, long long q_head, long long k_page, long long k_token,
                          long long k_head, long long v_page, long long v_token, long long v_head, long long o_batch,
                          long long o_token, long long o_head, long long batch, long long hq, long long hkv,
                          long long sq, long long max_pages, long long page, long long d) {
  using namespace tilewright;
  using namespace tilewright::attention;
  using T = typename Config::dtype;
  static_assert(Config::in_page == 0 || Config::in_page == 1, "a step of a warp lies in one page, or may not");
  const DecodeCall call = make_decode_call(lengths, batch, hq, hkv, sq, max_pages * page, left);
  const PagedCache<T, Config::in_page == 1> cache{{{k_pool, k_page, k_token, k_head},
                                                   {v_pool, v_page, v_token, v_head},
                                                   table,
                                                   static_cast<i32>(max_pages),
                                                   static_cast<i32>(page)}};
  const SplitArguments<Config> arguments{{q, q_batch, q_token, q_head},
                                         {o, o_batch, o_token, o_head},
                                         lse,
                                         parts,
                                         static_cast<i32>(d),
                                         static_cast<i32>(d)};
  decode_split<Config>(arguments, call, cache, make_scale<SplitGeometry<Config>::kSoftcap>(scale, softcap));
}

template <class Config>
__global__ void __launch_bounds__(128)
    attention_paged_combine(const int* lengths, typename Config::dtype* o, float* lse, float* parts, int left,
                            long long blocks, long long o_batch, long long o_token, long long o_head, long long batch,
                            long long hq, long long hkv, long long sq, long long max_pages, long long page,
                            long long d) {
  using namespace tilewright;
  using namespace tilewright::attention;
  const DecodeCall call = make_decode_call(lengths, batch, hq, hkv, sq, max_pages * page, left);
  const SplitArguments<Config> arguments{{}, {o, o_batch, o_token, o_head}, lse, parts, 0, static_cast<i32>(d)};
  combine_parts<Config>(arguments, call, static_cast<i32>(blocks));
}
