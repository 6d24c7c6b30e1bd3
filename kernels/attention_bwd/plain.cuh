// SPDX-License-Identifier: Apache-2.0
#pragma once

// The gradients of attention by their definition, in fp32 or fp64: a warp per row of dq, or per row of dk and dv.
//
//   x = scale · q·k, s = softcap · tanh(x / softcap) or x, p = exp(s - lse), dp = do·v, delta = do·o
//   dx = p · (dp - delta) · (1 - (s / softcap)²)      dq = scale · Σ dx k    dk = scale · Σ dx q    dv = Σ p do

#include "attention/sampled.cuh"
#include "call.cuh"
#include "device/convert.cuh"
#include "device/reduce.cuh"

namespace tilewright::attention {

__device__ __forceinline__ float exp_of(float x) { return expf(x); }
__device__ __forceinline__ double exp_of(double x) { return exp(x); }
__device__ __forceinline__ float tanh_of(float x) { return tanhf(x); }
__device__ __forceinline__ double tanh_of(double x) { return tanh(x); }

// Stores to an element of the op's dtype, or to a double.
__device__ __forceinline__ void put(double* to, double value) { *to = value; }
template <class T>
__device__ __forceinline__ void put(T* to, float value) {
  *to = from_float<T>(value);
}

// A row. A lane has every 32nd column, at most kMost.
template <class Real, int kMost>
struct LaneRow {
  Real values[kMost];

  template <class T>
  __device__ __forceinline__ void load(const T* row, i64 columns, int lane) {
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      values[i] = lane + 32 * i < columns ? static_cast<Real>(to_float(row[lane + 32 * i])) : Real(0);
    }
  }
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < kMost; ++i) values[i] = Real(0);
  }
  __device__ __forceinline__ void add(Real factor, const LaneRow& other) {
#pragma unroll
    for (int i = 0; i < kMost; ++i) values[i] += factor * other.values[i];
  }
  __device__ __forceinline__ Real dot(const LaneRow& other) const {
    Real sum = 0;
#pragma unroll
    for (int i = 0; i < kMost; ++i) sum += values[i] * other.values[i];
    return reduce_lanes<kWarpSize>(sum, Sum());
  }
  template <class Out>
  __device__ __forceinline__ void store(Out* row, i64 columns, int lane, Real factor) const {
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (lane + 32 * i < columns) put(row + lane + 32 * i, factor * values[i]);
    }
  }
};

// p and dx of a query with a key.
template <class Real>
struct Weight {
  Real p, dx;
};

template <class Config, class Real, class Call>
__device__ __forceinline__ Weight<Real> weight_of(const Call& call, Real score, Real dp, Real delta, float lse) {
  if (lse == -kInfinity) return {Real(0), Real(0)};
  Real s = static_cast<Real>(call.scale) * score, slope = 1;
  if (Config::softcap == "yes") {
    const Real t = tanh_of(s / static_cast<Real>(call.softcap));
    s = static_cast<Real>(call.softcap) * t;
    slope = 1 - t * t;
  }
  const Real p = exp_of(s - static_cast<Real>(lse));
  return {p, p * (dp - delta) * slope};
}

template <class Config, class Real, int kMost, class Call>
__device__ __forceinline__ void gradient_of_query(const Call& call, i64 batch, i64 query, i64 head, int lane) {
  const i64 key_head = head / call.group();
  LaneRow<Real, kMost> q, d_o, other, sums;
  d_o.load(call.d_o.at(batch, query, head), call.columns_v, lane);
  other.load(call.o.at(batch, query, head), call.columns_v, lane);
  const Real delta = d_o.dot(other);
  q.load(call.q.at(batch, query, head), call.columns, lane);
  sums.clear();
  const i64 diagonal = call.diagonal(query);
  const i64 first = diagonal + call.first > 0 ? diagonal + call.first : 0;
  const i64 last = diagonal + call.last < call.keys ? diagonal + call.last + 1 : call.keys;
  for (i64 key = first; key < last; ++key) {
    other.load(call.v.at(batch, key, key_head), call.columns_v, lane);
    const Real dp = d_o.dot(other);
    other.load(call.k.at(batch, key, key_head), call.columns, lane);
    const auto weight = weight_of<Config, Real>(call, q.dot(other), dp, delta, call.lse_of(batch, query, head));
    sums.add(weight.dx, other);
  }
  sums.store(call.dq.at(batch, query, head), call.columns, lane, static_cast<Real>(call.scale));
}

template <class Config, class Real, int kMost, class Call>
__device__ __forceinline__ void gradients_of_key(const Call& call, i64 batch, i64 key, i64 key_head, int lane) {
  LaneRow<Real, kMost> k, v, other, d_o, sums, sums_v;
  k.load(call.k.at(batch, key, key_head), call.columns, lane);
  v.load(call.v.at(batch, key, key_head), call.columns_v, lane);
  sums.clear();
  sums_v.clear();
  // Query i sees the key if first <= key - diagonal(i) <= last.
  const i64 own = key - call.diagonal(0);
  const i64 first = own - call.last > 0 ? own - call.last : 0;
  const i64 last = own - call.first < call.queries ? own - call.first + 1 : call.queries;
  for (i64 head = key_head * call.group(); head < (key_head + 1) * call.group(); ++head) {
    for (i64 query = first; query < last; ++query) {
      d_o.load(call.d_o.at(batch, query, head), call.columns_v, lane);
      other.load(call.o.at(batch, query, head), call.columns_v, lane);
      const Real delta = d_o.dot(other), dp = d_o.dot(v);
      other.load(call.q.at(batch, query, head), call.columns, lane);
      const auto weight = weight_of<Config, Real>(call, k.dot(other), dp, delta, call.lse_of(batch, query, head));
      sums.add(weight.dx, other);
      sums_v.add(weight.p, d_o);
    }
  }
  sums.store(call.dk.at(batch, key, key_head), call.columns, lane, static_cast<Real>(call.scale));
  sums_v.store(call.dv.at(batch, key, key_head), call.columns_v, lane, Real(1));
}

template <class Config, class Real, bool kSampled, int kMost, class Call>
__device__ __forceinline__ void gradients_of_columns(const Call& call) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = static_cast<i64>(gridDim.x) * (blockDim.x / kWarpSize);
  const i64 of_queries = call.batches * call.heads * call.queries, of_keys = call.batches * call.key_heads * call.keys;
  i64 row = static_cast<i64>(blockIdx.x) * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  for (; row < of_queries + of_keys; row += warps) {
    if (row < of_queries) {
      if (kSampled && !is_sampled_row(row, of_queries, row % call.queries, call.queries, call.keys)) continue;
      gradient_of_query<Config, Real, kMost>(call, row / call.queries / call.heads, row % call.queries,
                                             row / call.queries % call.heads, lane);
    } else {
      const i64 key = row - of_queries;
      if (kSampled && !is_sampled_row(key, of_keys, key % call.keys, call.keys, call.queries)) continue;
      gradients_of_key<Config, Real, kMost>(call, key / call.keys / call.key_heads, key % call.keys,
                                            key / call.keys % call.key_heads, lane);
    }
  }
}

template <class Config, class Real, bool kSampled, class Call>
__device__ __forceinline__ void gradients_plainly(const Call& call) {
  // Narrow rows must not take the time of wide ones.
  const i64 widest = call.columns > call.columns_v ? call.columns : call.columns_v;
  if (widest <= 64) {
    gradients_of_columns<Config, Real, kSampled, 2>(call);
  } else if (widest <= 128) {
    gradients_of_columns<Config, Real, kSampled, 4>(call);
  } else {
    gradients_of_columns<Config, Real, kSampled, 8>(call);
  }
}

}  // namespace tilewright::attention
