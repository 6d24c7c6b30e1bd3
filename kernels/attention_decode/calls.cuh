// SPDX-License-Identifier: Apache-2.0
#pragma once

// The calls of attention_decode and attention_paged, from their kernels' parameters.

#include "split.cuh"

namespace tilewright::attention {

template <class Config, class Cache>
struct Decoding {
  SplitArguments<Config> arguments;
  DecodeCall call;
  Cache cache;
  Scale scale;
};

// The call of attention_decode; `parts` and `counters` are null if unused.
template <class Config, class T = typename Config::dtype>
__device__ __forceinline__ Decoding<Config, DenseCache<T>> of_tensors(
    const T* q, const T* k, const T* v, const i32* lengths, T* o, float* lse, float* parts, u32* counters, float scale,
    i32 left, float softcap, i64 q_batch, i64 q_token, i64 q_head, i64 k_batch, i64 k_token, i64 k_head, i64 v_batch,
    i64 v_token, i64 v_head, i64 o_batch, i64 o_token, i64 o_head, i64 batch, i64 hq, i64 hkv, i64 sq, i64 sk, i64 d,
    i64 dv) {
  return {{{q, q_batch, q_token, q_head},
           {o, o_batch, o_token, o_head},
           lse,
           parts,
           counters,
           static_cast<i32>(d),
           static_cast<i32>(dv)},
          make_decode_call(lengths, batch, hq, hkv, sq, sk, left),
          {{k, k_batch, k_token, k_head}, {v, v_batch, v_token, v_head}},
          make_scale<SplitGeometry<Config>::kSoftcap>(scale, softcap)};
}

// The call of attention_paged.
//
//   in_page = 1   a warp's step lies in one page: one table lookup
//   in_page = 0   any page size: a table lookup for each row
template <class Config, class T = typename Config::dtype>
__device__ __forceinline__ Decoding<Config, PagedCache<T, Config::in_page == 1>> of_pages(
    const T* q, const T* k_pool, const T* v_pool, const i32* table, const i32* lengths, T* o, float* lse, float* parts,
    u32* counters, float scale, i32 left, float softcap, i64 q_batch, i64 q_token, i64 q_head, i64 k_page, i64 k_token,
    i64 k_head, i64 v_page, i64 v_token, i64 v_head, i64 o_batch, i64 o_token, i64 o_head, i64 batch, i64 hq, i64 hkv,
    i64 sq, i64 max_pages, i64 page, i64 d) {
  static_assert(Config::in_page == 0 || Config::in_page == 1, "a step of a warp lies in one page, or may not");
  const Pages<T> pages{{k_pool, k_page, k_token, k_head},
                       {v_pool, v_page, v_token, v_head},
                       table,
                       static_cast<i32>(max_pages),
                       static_cast<i32>(page)};
  return {{{q, q_batch, q_token, q_head},
           {o, o_batch, o_token, o_head},
           lse,
           parts,
           counters,
           static_cast<i32>(d),
           static_cast<i32>(d)},
          make_decode_call(lengths, batch, hq, hkv, sq, max_pages * page, left),
          {pages},
          make_scale<SplitGeometry<Config>::kSoftcap>(scale, softcap)};
}

}  // namespace tilewright::attention
