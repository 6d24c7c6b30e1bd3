// SPDX-License-Identifier: Apache-2.0
//
// attention: s = scale · q·k, then softcap · tanh(s / softcap), then the mask; o = softmax(s) v, lse = log Σ exp(s).
// Query i sees key j if j <= i + sk - sq (causal) and -left <= j - (i + sk - sq) <= right (window; -1 is unlimited).
// Query head h reads key and value head h / (hq / hkv). A row that sees no key has o = 0 and lse = -inf.
//
//   q [b, sq, hq, d]  k [b, sk, hkv, d]  v [b, sk, hkv, dv]  o [b, sq, hq, dv], each at strides of its own
//   lse f32 [b, hq, sq]
//
// This file has the reference, four rows of queries a warp, and the base: by mma.sync for any strides and addresses, or
// by a warp per row if 32 bits do not count the rows and keys.

#include "base_tile.cuh"
#include "reference_rows.cuh"
#include "sampled.cuh"

namespace tilewright::attention {

struct KeysOfRow {
  i64 first, last;  // up to, and without, last
};

template <class Config>
__device__ __forceinline__ KeysOfRow keys_of_query(i64 query, i64 queries, i64 keys, i32 left, i32 right) {
  const i64 diagonal = query + keys - queries;
  KeysOfRow range{0, keys};
  if (Config::causal == "yes" && range.last > diagonal + 1) range.last = diagonal + 1;
  if (Config::window == "yes") {
    if (left >= 0 && range.first < diagonal - left) range.first = diagonal - left;
    if (right >= 0 && range.last > diagonal + right + 1) range.last = diagonal + right + 1;
  }
  return range;
}

// The base for heads of at most kWidth columns.
template <class Config, int kWidth, class T = typename Config::dtype>
__device__ __forceinline__ void attend_base_tile(const Tensor<const T>& q, const Tensor<const T>& k,
                                                 const Tensor<const T>& v, const Tensor<T>& o, float* lse, float scale,
                                                 i32 left, i32 right, float softcap, i64 b, i64 hq, i64 hkv, i64 sq,
                                                 i64 sk, i64 d, i64 dv) {
  static_assert(Config::num_warps * 16 == kBaseRows, "a warp has 16 rows");
  with_base_tile<Config, kWidth>(q, k, v, o, [&](auto tile) {
    using Tile = decltype(tile);
    using G = MmaGeometry<Tile>;
    // As in mma.cu: the longest pieces of a causal problem first.
    const Problem problem = make_problem(b, hq, hkv, sq, sk, left, right, G::kCausal ? 1 : b * hq);
    const MmaArguments<Tile> arguments{q, k, v, o, lse, static_cast<i32>(d), static_cast<i32>(dv)};
    run_mma(arguments, problem, make_scale<G::kSoftcap>(scale, softcap),
            Order<Tile>(problem).work(problem, blockIdx.x));
  });
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
  if (fits_base_tiles(sq, sk, b * hq, ceil_div(sq, i64{kBaseRows}))) {
    with_base_width(d, dv, [&](auto width) {
      attend_base_tile<Config, decltype(width)::kWidth>({q, q_batch, q_token, q_head}, {k, k_batch, k_token, k_head},
                                                        {v, v_batch, v_token, v_head}, {o, o_batch, o_token, o_head},
                                                        lse, scale, left, right, softcap, b, hq, hkv, sq, sk, d, dv);
    });
    return;
  }
  // A warp per row.
  const RowScale call{scale, softcap, d, dv};
  const i64 warps = i64{gridDim.x} * Config::num_warps;
  for (i64 row = i64{blockIdx.x} * Config::num_warps + threadIdx.x / kWarpSize; row < b * hq * sq; row += warps) {
    const i64 batch = row / sq / hq, head = row / sq % hq, query = row % sq, key_head = head / (hq / hkv);
    const KeysOfRow range = keys_of_query<Config>(query, sq, sk, left, right);
    attend_columns<Config, 8>(
        call, q + batch * q_batch + query * q_token + head * q_head,
        [&](i64 j) { return k + batch * k_batch + j * k_token + key_head * k_head; },
        [&](i64 j) { return v + batch * v_batch + j * v_token + key_head * v_head; }, range.first, range.last,
        o + batch * o_batch + query * o_token + head * o_head, Config::lse == "yes" ? lse + row : nullptr);
  }
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
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = i64{gridDim.x} * (blockDim.x / kWarpSize), parts = ceil_div(sq, i64{kWarpSize});
  // A warp takes the sampled ones of 32 neighbouring queries of a head.
  for (i64 part = i64{blockIdx.x} * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize; part < b * hq * parts;
       part += warps) {
    const i64 of_heads = part / parts, batch = of_heads / hq, head = of_heads % hq, key_head = head / (hq / hkv);
    const i64 first_query = part % parts * kWarpSize, own = first_query + lane;
    const bool is_sampled = own < sq && is_sampled_row(of_heads * sq + own, b * hq * sq, own, sq, sk);
    for_each_four(__ballot_sync(kFullMask, is_sampled), [&](const int(&lanes)[kReferenceRows], int count) {
      ReferenceRows<T> rows{};
      rows.count = count;
#pragma unroll
      for (int r = 0; r < kReferenceRows; ++r) {
        const i64 query = first_query + lanes[r];
        const KeysOfRow range = keys_of_query<Config>(query, sq, sk, left, right);
        rows.query[r] = q + batch * q_batch + query * q_token + head * q_head;
        rows.o[r] = o + batch * o_batch + query * o_token + head * o_head;
        rows.lse[r] = Config::lse == "yes" ? lse + of_heads * sq + query : nullptr;
        rows.first[r] = range.first;
        rows.last[r] = range.last;
      }
      attend_rows_in_doubles<Config>(
          call, rows, [&](i64 j) { return k + batch * k_batch + j * k_token + key_head * k_head; },
          [&](i64 j) { return v + batch * v_batch + j * v_token + key_head * v_head; });
    });
  }
}
