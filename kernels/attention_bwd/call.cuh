// SPDX-License-Identifier: Apache-2.0
#pragma once

// A call of attention_bwd, shared by all of its kernels. The diagonal of query i is key i + sk - sq. The query sees the
// keys at distances `first` to `last` from its diagonal, both included.

#include "device/config.cuh"

namespace tilewright::attention {

// [batch, tokens, heads, columns] at strides in elements; columns are contiguous.
template <class T>
struct Strided {
  T* data;
  i64 batch, token, head;

  __device__ __forceinline__ T* at(i64 of_batch, i64 of_token, i64 of_head) const {
    return data + of_batch * batch + of_token * token + of_head * head;
  }
};

template <class T, class Gradient>
struct BackwardCall {
  Strided<const T> q, k, v, o, d_o;
  const float* lse;
  Strided<Gradient> dq, dk, dv;
  float scale, softcap;
  i64 batches, heads, key_heads, queries, keys, columns, columns_v;
  i64 first, last;

  __device__ __forceinline__ i64 group() const { return heads / key_heads; }
  __device__ __forceinline__ i64 diagonal(i64 query) const { return query + keys - queries; }
  __device__ __forceinline__ float lse_of(i64 batch, i64 query, i64 head) const {
    return lse[(batch * heads + head) * queries + query];
  }
};

// The distances from its diagonal at which a query sees keys.
struct Reach {
  i64 first, last;
};

template <class Config>
__device__ __forceinline__ Reach reach_of(i32 left, i32 right) {
  constexpr i64 kFarthest = i64{1} << 40;
  Reach reach{-kFarthest, kFarthest};
  if (Config::window == "yes" && left >= 0) reach.first = -i64{left};
  if (Config::window == "yes" && right >= 0) reach.last = right;
  if (Config::causal == "yes") reach.last = 0;
  return reach;
}

}  // namespace tilewright::attention
