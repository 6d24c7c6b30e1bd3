// SPDX-License-Identifier: Apache-2.0
//
// attention: s = scale · q·k, then softcap · tanh(s / softcap), then the mask; o = softmax(s) v, lse = log Σ exp(s).
// Query i sees key j where causal: j <= i + sk - sq; window: -left <= j - (i + sk - sq) <= right, -1 unlimited. Query
// head h reads key and value head h / (hq / hkv). A row that sees no key has o = 0 and lse = -inf.
//
//   q [b, sq, hq, d]  k [b, sk, hkv, d]  v [b, sk, hkv, dv]  o [b, sq, hq, dv], each at strides of its own
//   lse f32 [b, hq, sq]
//
// Here are the reference and the base, both with a warp a row of queries.

#include "plain_row.cuh"

namespace tilewright::attention {

// Calls `work` with the warp's rows, and the keys that each sees: from first to behind last.
template <class Config, class Work>
__device__ __forceinline__ void for_each_dense_row(i64 batches, i64 heads, i64 queries, i64 keys, i32 left, i32 right,
                                                   const Work& work) {
  const i64 warps = static_cast<i64>(gridDim.x) * (blockDim.x / kWarpSize);
  i64 row = static_cast<i64>(blockIdx.x) * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  for (; row < batches * heads * queries; row += warps) {
    const i64 query = row % queries, head = row / queries % heads, batch = row / queries / heads;
    const i64 diagonal = query + keys - queries;
    i64 first = 0, last = keys;
    if (Config::causal == "yes" && last > diagonal + 1) last = diagonal + 1;
    if (Config::window == "yes") {
      if (left >= 0 && first < diagonal - left) first = diagonal - left;
      if (right >= 0 && last > diagonal + right + 1) last = diagonal + right + 1;
    }
    work(row, batch, query, head, first, last);
  }
}

// Of large problems the reference computes some rows: those at the edges of any tile, and one of sixteen others.
__device__ __forceinline__ bool is_sampled(i64 row, i64 query, i64 rows, i64 queries, i64 keys) {
  constexpr i64 kMostProducts = 1LL << 28;  // of a query with a key, up to which all rows are computed
  if (rows <= kMostProducts / keys) return true;
  const bool is_edge = query < 4 || query >= queries - 4 || (query + 1) % 64 <= 1;
  return is_edge || (row * 2654435761u >> 12) % 16 == 0;
}

}  // namespace tilewright::attention

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    attention_simple(const typename Config::dtype* q, const typename Config::dtype* k, const typename Config::dtype* v,
                     typename Config::dtype* o, float* lse, float scale, int left, int right, float softcap,
                     long long q_batch, long long q_token, long long q_head, long long k_batch, long long k_token,
                     long long k_head, long long v_batch, long long v_token, long long v_head, long long o_batch,
                     long long o_token, long long o_head, long long b, long long hq, long long hkv, long long sq,
                     long long sk, long long d, long long dv) {
  using namespace tilewright;
  using namespace tilewright::attention;
  using T = typename Config::dtype;
  const RowScale call{scale, softcap, d, dv};
  for_each_dense_row<Config>(
      b, hq, sq, sk, left, right, [&](i64 row, i64 batch, i64 query, i64 head, i64 first, i64 last) {
        const i64 key_head = head / (hq / hkv);
        attend_plainly<Config, T>(
            call, q + batch * q_batch + query * q_token + head * q_head,
            [&](i64 j) { return k + batch * k_batch + j * k_token + key_head * k_head; },
            [&](i64 j) { return v + batch * v_batch + j * v_token + key_head * v_head; }, first, last,
            o + batch * o_batch + query * o_token + head * o_head, Config::lse == "yes" ? lse + row : nullptr);
      });
}

template <class Config>
__global__ void attention_reference(const typename Config::dtype* q, const typename Config::dtype* k,
                                    const typename Config::dtype* v, double* o, double* lse, float scale, int left,
                                    int right, float softcap, long long q_batch, long long q_token, long long q_head,
                                    long long k_batch, long long k_token, long long k_head, long long v_batch,
                                    long long v_token, long long v_head, long long o_batch, long long o_token,
                                    long long o_head, long long b, long long hq, long long hkv, long long sq,
                                    long long sk, long long d, long long dv) {
  using namespace tilewright;
  using namespace tilewright::attention;
  using T = typename Config::dtype;
  const RowScale call{scale, softcap, d, dv};
  for_each_dense_row<Config>(
      b, hq, sq, sk, left, right, [&](i64 row, i64 batch, i64 query, i64 head, i64 first, i64 last) {
        if (!is_sampled(row, query, b * hq * sq, sq, sk)) return;
        const i64 key_head = head / (hq / hkv);
        attend_in_doubles<Config, T>(
            call, q + batch * q_batch + query * q_token + head * q_head,
            [&](i64 j) { return k + batch * k_batch + j * k_token + key_head * k_head; },
            [&](i64 j) { return v + batch * v_batch + j * v_token + key_head * v_head; }, first, last,
            o + batch * o_batch + query * o_token + head * o_head, Config::lse == "yes" ? lse + row : nullptr);
      });
}
