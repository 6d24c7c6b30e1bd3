// SPDX-License-Identifier: Apache-2.0
#pragma once

// Decoding by its definition, over any cache: the base, and the reference in fp64, a warp per row of queries.

#include "attention/plain_row.cuh"
#include "cache.cuh"

namespace tilewright::attention {

// The values that all rows of a call share.
struct Decoding {
  const i32* lengths;
  i32 left;  // of the window; -1 is unlimited
  i64 batches, heads, key_heads, queries, capacity;
  RowScale row;
};

// Calls `work` with each row, its query and head, and the keys that it sees: from `first` up to, and without, `last`.
// The last query is the last token.
template <class Config, class Work>
__device__ __forceinline__ void for_each_row(const Decoding& call, const Work& work) {
  const i64 warps = static_cast<i64>(gridDim.x) * (blockDim.x / kWarpSize);
  i64 row = static_cast<i64>(blockIdx.x) * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  for (; row < call.batches * call.heads * call.queries; row += warps) {
    const i64 query = row % call.queries, head = row / call.queries % call.heads,
              batch = row / call.queries / call.heads;
    i64 length = call.lengths[batch];
    length = length < 0 ? 0 : length > call.capacity ? call.capacity : length;
    const i64 last = length - call.queries + query + 1;
    i64 first = 0;
    if (Config::window == "yes" && call.left >= 0 && last - 1 - call.left > 0) first = last - 1 - call.left;
    work(row, batch, query, head, first, last);
  }
}

template <class Config, class T, class Cache>
__device__ __forceinline__ void decode_plainly(const Decoding& call, const Rows4<const T>& q, const Cache& cache,
                                               const Rows4<T>& o, float* lse) {
  for_each_row<Config>(call, [&](i64 row, i64 batch, i64 query, i64 head, i64 first, i64 last) {
    const i64 of_keys = head / (call.heads / call.key_heads);
    attend_plainly<Config>(
        call.row, q.at(batch, query, head), [&](i64 j) { return cache.key(batch, j, of_keys); },
        [&](i64 j) { return cache.value(batch, j, of_keys); }, first, last, o.at(batch, query, head),
        Config::lse == "yes" ? lse + row : nullptr);
  });
}

template <class Config, class T, class Cache>
__device__ __forceinline__ void decode_in_doubles(const Decoding& call, const Rows4<const T>& q, const Cache& cache,
                                                  const Rows4<double>& o, double* lse) {
  for_each_row<Config>(call, [&](i64 row, i64 batch, i64 query, i64 head, i64 first, i64 last) {
    const i64 of_keys = head / (call.heads / call.key_heads);
    attend_in_doubles<Config>(
        call.row, q.at(batch, query, head), [&](i64 j) { return cache.key(batch, j, of_keys); },
        [&](i64 j) { return cache.value(batch, j, of_keys); }, first, last, o.at(batch, query, head),
        Config::lse == "yes" ? lse + row : nullptr);
  });
}

}  // namespace tilewright::attention
