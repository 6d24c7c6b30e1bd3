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
#include "sampled.cuh"

namespace tilewright::attention {

// A row of queries, and the keys that it sees: from first to behind last.
struct DenseRow {
  i64 row, batch, query, head, first, last;
};

// Calls `work` with each of the warp's rows.
template <class Config, class Work>
__device__ __forceinline__ void for_each_dense_row(i64 batches, i64 heads, i64 queries, i64 keys, i32 left, i32 right,
                                                   const Work& work) {
  const i64 warps = static_cast<i64>(gridDim.x) * (blockDim.x / kWarpSize);
  i64 row = static_cast<i64>(blockIdx.x) * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  for (; row < batches * heads * queries; row += warps) {
    const i64 query = row % queries, diagonal = query + keys - queries;
    i64 first = 0, last = keys;
    if (Config::causal == "yes" && last > diagonal + 1) last = diagonal + 1;
    if (Config::window == "yes") {
      if (left >= 0 && first < diagonal - left) first = diagonal - left;
      if (right >= 0 && last > diagonal + right + 1) last = diagonal + right + 1;
    }
    work(DenseRow{row, row / queries / heads, query, row / queries % heads, first, last});
  }
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
  const RowScale call{scale, softcap, d, dv};
  for_each_dense_row<Config>(b, hq, sq, sk, left, right, [&](const DenseRow& of) {
    const i64 key_head = of.head / (hq / hkv);
    attend_plainly<Config>(
        call, q + of.batch * q_batch + of.query * q_token + of.head * q_head,
        [&](i64 j) { return k + of.batch * k_batch + j * k_token + key_head * k_head; },
        [&](i64 j) { return v + of.batch * v_batch + j * v_token + key_head * v_head; }, of.first, of.last,
        o + of.batch * o_batch + of.query * o_token + of.head * o_head, Config::lse == "yes" ? lse + of.row : nullptr);
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
  for_each_dense_row<Config>(b, hq, sq, sk, left, right, [&](const DenseRow& of) {
    if (!is_sampled_row(of.row, b * hq * sq, of.query, sq, sk)) return;
    const i64 key_head = of.head / (hq / hkv);
    attend_in_doubles<Config, T>(
        call, q + of.batch * q_batch + of.query * q_token + of.head * q_head,
        [&](i64 j) { return k + of.batch * k_batch + j * k_token + key_head * k_head; },
        [&](i64 j) { return v + of.batch * v_batch + j * v_token + key_head * v_head; }, of.first, of.last,
        o + of.batch * o_batch + of.query * o_token + of.head * o_head, Config::lse == "yes" ? lse + of.row : nullptr);
  });
}
