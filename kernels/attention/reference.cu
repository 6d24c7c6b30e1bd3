// SPDX-License-Identifier: Apache-2.0
//
// The reference of attention, whose formulas attention.cu has: in fp64, with a warp a row of queries.

#include "plain_row.cuh"
#include "sampled.cuh"

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

}  // namespace tilewright::attention

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
        if (!is_sampled_row(row, b * hq * sq, query, sq, sk)) return;
        const i64 key_head = head / (hq / hkv);
        attend_in_doubles<Config, T>(
            call, q + batch * q_batch + query * q_token + head * q_head,
            [&](i64 j) { return k + batch * k_batch + j * k_token + key_head * k_head; },
            [&](i64 j) { return v + batch * v_batch + j * v_token + key_head * v_head; }, first, last,
            o + batch * o_batch + query * o_token + head * o_head, Config::lse == "yes" ? lse + row : nullptr);
      });
}
