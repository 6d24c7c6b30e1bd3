// SPDX-License-Identifier: Apache-2.0
#pragma once

// The keys and values of sequences, for the decoding kernels: in tensors, or in pages of a pool. Strides are in
// elements; columns are contiguous. A token must exist in its sequence or, with kHasAllTokens, be below the capacity.
//
// A step is the rows that a warp copies at once. Its table entry is looked up a step ahead: `look`, then `step`.

#include "device/config.cuh"

namespace tilewright::attention {

// [batch, tokens, heads, columns].
template <class T>
struct Rows4 {
  T* data;
  i64 batch, token, head;

  __device__ __forceinline__ T* at(i64 of_batch, i64 of_token, i64 of_head) const {
    return data + of_batch * batch + of_token * token + of_head * head;
  }
};

// Rows of keys and values from a token on. Addresses of rows that a sequence does not have are formed, but not read.
template <class T>
struct StepRows {
  const T *keys, *values;
  i64 key_step, value_step;

  __device__ __forceinline__ const T* key(int row) const { return keys + row * key_step; }
  __device__ __forceinline__ const T* value(int row) const { return values + row * value_step; }
};

// Each sequence has its own rows of a tensor.
template <class T>
struct DenseCache {
  enum : bool { kHasAllTokens = true };  // up to the capacity: any may be read before a length is known
  Rows4<const T> keys, values;

  __device__ __forceinline__ const T* key(i64 batch, i64 token, i64 head) const { return keys.at(batch, token, head); }
  __device__ __forceinline__ const T* value(i64 batch, i64 token, i64 head) const {
    return values.at(batch, token, head);
  }
  struct Entry {};
  __device__ __forceinline__ Entry look(i32 /*batch*/, i32 /*token*/, i32 /*last*/) const { return {}; }
  __device__ __forceinline__ StepRows<T> step(Entry /*entry*/, i32 batch, i32 token, i32 /*last*/, i32 head) const {
    return {key(batch, token, head), value(batch, token, head), keys.token, values.token};
  }
};

// Tokens p · page … of sequence b are in page table[b][p] of a pool [pages, page, heads, columns].
template <class T>
struct Pages {
  enum : bool { kHasAllTokens = false };
  Rows4<const T> keys, values;  // `batch` is the stride between pages
  const i32* table;
  i32 max_pages, page;

  __device__ __forceinline__ i64 page_of(i64 batch, i32 token) const { return table[batch * max_pages + token / page]; }
  __device__ __forceinline__ const T* key(i64 batch, i64 token, i64 head) const {
    const i32 at = static_cast<i32>(token);
    return keys.at(page_of(batch, at), at % page, head);
  }
  __device__ __forceinline__ const T* value(i64 batch, i64 token, i64 head) const {
    const i32 at = static_cast<i32>(token);
    return values.at(page_of(batch, at), at % page, head);
  }
};

// Pages if a step may span several of them.
template <class T, bool kInPage>
struct PagedCache : Pages<T> {
  struct LookedUp {
    const PagedCache& cache;
    i32 batch, token, last, head;

    __device__ __forceinline__ i32 of(int row) const { return token + row < last ? token + row : last; }
    __device__ __forceinline__ const T* key(int row) const { return cache.key(batch, of(row), head); }
    __device__ __forceinline__ const T* value(int row) const { return cache.value(batch, of(row), head); }
  };
  struct Entry {};
  __device__ __forceinline__ Entry look(i32 /*batch*/, i32 /*token*/, i32 /*last*/) const { return {}; }
  __device__ __forceinline__ LookedUp step(Entry /*entry*/, i32 batch, i32 token, i32 last, i32 head) const {
    return {*this, batch, token, last, head};
  }
};

// Pages if each step lies in one of them.
template <class T>
struct PagedCache<T, true> : Pages<T> {
  struct Entry {
    i32 page;
  };
  __device__ __forceinline__ Entry look(i32 batch, i32 token, i32 last) const {
    return {static_cast<i32>(this->page_of(batch, token < last ? token : last))};
  }
  __device__ __forceinline__ StepRows<T> step(Entry entry, i32 /*batch*/, i32 token, i32 /*last*/, i32 head) const {
    const i64 at = entry.page;
    const i32 row = token % this->page;
    return {this->keys.at(at, row, head), this->values.at(at, row, head), this->keys.token, this->values.token};
  }
};

}  // namespace tilewright::attention
