// SPDX-License-Identifier: Apache-2.0
//
// attention_varlen: attention within each of many sequences that follow one another. Sequence b has the queries cu_q[b]
// … cu_q[b + 1] - 1 and the keys cu_k[b] … cu_k[b + 1] - 1; masks are relative to its own diagonal. Rows behind the
// last sequence are not touched.
//
//   q [tokens_q, hq, d]  k [tokens_k, hkv, d]  v [tokens_k, hkv, dv]  cu_q, cu_k [batch + 1]  o [tokens_q, hq, dv]
//   lse f32 [hq, tokens_q]
//
// This file has the reference and the base.

#include "attention/base_tile.cuh"
#include "attention/plain_row.cuh"
#include "attention/reference_rows.cuh"
#include "attention/sampled.cuh"
#include "mma_piece.cuh"
#include "sequences.cuh"

namespace tilewright::attention {

// A row of queries, the first key of its sequence, and the keys that it sees: from `first` up to, and without, `last`.
struct VarlenRow {
  i64 batch, query, queries, first_key, first, last;
};

template <class Config>
__device__ __forceinline__ VarlenRow varlen_row(const i32* cu_q, const i32* cu_k, i64 batches, i64 token, i32 left,
                                                i32 right) {
  const i64 batch = sequence_with(cu_q, batches, token);
  const i64 keys = cu_k[batch + 1] - cu_k[batch], queries = cu_q[batch + 1] - cu_q[batch], query = token - cu_q[batch];
  const i64 diagonal = query + keys - queries;
  i64 first = 0, last = keys;
  if (Config::causal == "yes" && last > diagonal + 1) last = diagonal + 1;
  if (Config::window == "yes") {
    if (left >= 0 && first < diagonal - left) first = diagonal - left;
    if (right >= 0 && last > diagonal + right + 1) last = diagonal + right + 1;
  }
  return {batch, query, queries, i64{cu_k[batch]}, first, last};
}

template <class Config, int kWidth, class T>
__device__ __forceinline__ void attend_base_tile(const Sequences<T>& call, float scale, i32 left, i32 right,
                                                 float softcap) {
  static_assert(Config::num_warps * 16 == kBaseRows, "a warp has 16 rows");
  const Tensor<const T> q{call.q, 0, call.q_token, call.q_head}, k{call.k, 0, call.k_token, call.k_head},
      v{call.v, 0, call.v_token, call.v_head};
  const Tensor<T> o{call.o, 0, call.o_token, call.o_head};
  with_base_tile<Config, kWidth>(q, k, v, o, [&](auto tile) {
    using Tile = decltype(tile);
    // The first blocks of all heads come first.
    const i64 heads = call.hq, block = blockIdx.x;
    run_piece<Tile>(call, left, right, make_scale<MmaGeometry<Tile>::kSoftcap>(scale, softcap),
                    static_cast<i32>(block / heads), static_cast<i32>(block % heads));
  });
}

}  // namespace tilewright::attention

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    attention_varlen_simple(const typename Config::dtype* q, const typename Config::dtype* k,
                            const typename Config::dtype* v, const int* cu_q, const int* cu_k,
                            typename Config::dtype* o, float* lse, float scale, int left, int right, float softcap,
                            long long q_token, long long q_head, long long k_token, long long k_head, long long v_token,
                            long long v_head, long long o_token, long long o_head, long long batch, long long tokens_q,
                            long long tokens_k, long long hq, long long hkv, long long d, long long dv) {
  using namespace tilewright;
  using namespace tilewright::attention;
  const Sequences<typename Config::dtype> call{q,       k,      v,        cu_q,   cu_k,    o,      lse,
                                               q_token, q_head, k_token,  k_head, v_token, v_head, o_token,
                                               o_head,  batch,  tokens_q, hq,     hkv,     d,      dv};
  if (fits_base_tiles(tokens_q, tokens_k, hq, ceil_div(tokens_q, i64{kBaseRows}) + batch)) {
    with_base_width(d, dv, [&](auto width) {
      attend_base_tile<Config, decltype(width)::kWidth>(call, scale, left, right, softcap);
    });
    return;
  }
  // A warp per row.
  const RowScale scales{scale, softcap, d, dv};
  const i64 warps = i64{gridDim.x} * Config::num_warps, tokens = cu_q[batch];
  for (i64 row = i64{blockIdx.x} * Config::num_warps + threadIdx.x / kWarpSize; row < hq * tokens; row += warps) {
    const i64 head = row / tokens, token = row % tokens, key_head = head / (hq / hkv);
    const VarlenRow own = varlen_row<Config>(cu_q, cu_k, batch, token, left, right);
    attend_columns<Config, 8>(
        scales, q + token * q_token + head * q_head,
        [&](i64 j) { return k + (own.first_key + j) * k_token + key_head * k_head; },
        [&](i64 j) { return v + (own.first_key + j) * v_token + key_head * v_head; }, own.first, own.last,
        o + token * o_token + head * o_head, Config::lse == "yes" ? lse + head * tokens_q + token : nullptr);
  }
}

template <class Config>
__global__ void attention_varlen_reference(const typename Config::dtype* q, const typename Config::dtype* k,
                                           const typename Config::dtype* v, const int* cu_q, const int* cu_k, double* o,
                                           double* lse, float scale, int left, int right, float softcap,
                                           long long q_token, long long q_head, long long k_token, long long k_head,
                                           long long v_token, long long v_head, long long o_token, long long o_head,
                                           long long batch, long long tokens_q, long long tokens_k, long long hq,
                                           long long hkv, long long d, long long dv) {
  using namespace tilewright;
  using namespace tilewright::attention;
  using T = typename Config::dtype;
  const RowScale scales{scale, softcap, d, dv};
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = i64{gridDim.x} * (blockDim.x / kWarpSize), tokens = cu_q[batch];
  const i64 parts = ceil_div(tokens, i64{kWarpSize});
  // A warp takes the sampled ones of 32 neighbouring tokens of a head, one sequence at a time.
  for (i64 part = i64{blockIdx.x} * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize; part < hq * parts;
       part += warps) {
    const i64 head = part / parts, key_head = head / (hq / hkv), first_token = part % parts * kWarpSize;
    const i64 token = first_token + lane;
    bool is_wanted = token < tokens;
    i64 batch_of_lane = -1;
    if (is_wanted) {
      const VarlenRow own = varlen_row<Config>(cu_q, cu_k, batch, token, left, right);
      batch_of_lane = own.batch;
      is_wanted = is_sampled_row(head * tokens_q + token, hq * tokens_q, own.query, own.queries, tokens_k / batch);
    }
    u32 wanted = __ballot_sync(kFullMask, is_wanted);
    while (wanted != 0) {
      const i64 sequence = __shfl_sync(kFullMask, batch_of_lane, __ffs(static_cast<int>(wanted)) - 1);
      const u32 alike = __ballot_sync(kFullMask, batch_of_lane == sequence) & wanted;
      wanted &= ~alike;
      const i64 first_key = cu_k[sequence];
      for_each_four(alike, [&](const int(&lanes)[kReferenceRows], int count) {
        ReferenceRows<T> rows{};
        rows.count = count;
#pragma unroll
        for (int r = 0; r < kReferenceRows; ++r) {
          const i64 of_row = first_token + lanes[r];
          const VarlenRow own = varlen_row<Config>(cu_q, cu_k, batch, of_row, left, right);
          rows.query[r] = q + of_row * q_token + head * q_head;
          rows.o[r] = o + of_row * o_token + head * o_head;
          rows.lse[r] = Config::lse == "yes" ? lse + head * tokens_q + of_row : nullptr;
          rows.first[r] = own.first;
          rows.last[r] = own.last;
        }
        attend_rows_in_doubles<Config>(
            scales, rows, [&](i64 j) { return k + (first_key + j) * k_token + key_head * k_head; },
            [&](i64 j) { return v + (first_key + j) * v_token + key_head * v_head; });
      });
    }
  }
}
