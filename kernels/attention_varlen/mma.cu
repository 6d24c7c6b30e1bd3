// SPDX-License-Identifier: Apache-2.0
//
// attention_varlen by mma.sync: a block has block_m queries of a head of a sequence, and works as in attention/mma.cu, whose
// warps and tiles it has. Which queries are its own tells cu_q: the rows of the grid are as many as blocks of queries
// can be, and those behind the last end at once.

#include "attention/mma.cu"
#include "sequences.cuh"

namespace tilewright::attention {

// A block of queries of a sequence.
struct Piece {
  i32 batch, block;
};

// The index'th block of block_m queries, counted over sequences; batch is `batches` where there are fewer. A warp calls.
template <class Config>
__device__ __forceinline__ Piece find_piece(const i32* cu_q, i32 batches, i32 index, int lane) {
  i32 before = 0;
  for (i32 first = 0; first < batches; first += kWarpSize) {
    const i32 batch = first + lane;
    const i32 own = batch < batches ? ceil_div(cu_q[batch + 1] - cu_q[batch], i32{Config::block_m}) : 0;
    i32 upto = own;
#pragma unroll
    for (int step = 1; step < kWarpSize; step *= 2) {
      const i32 other = __shfl_up_sync(kFullMask, upto, step);
      if (lane >= step) upto += other;
    }
    const u32 behind = __ballot_sync(kFullMask, before + upto > index);
    if (behind != 0) {
      const int which = __ffs(static_cast<int>(behind)) - 1;
      return {first + which, index - before - __shfl_sync(kFullMask, upto - own, which)};
    }
    before += __shfl_sync(kFullMask, upto, kWarpSize - 1);
  }
  return {batches, 0};
}

}  // namespace tilewright::attention

template <class Config>
__global__ void __launch_bounds__(tilewright::attention::MmaGeometry<Config>::kThreads)
    attention_varlen_mma(const typename Config::dtype* q, const typename Config::dtype* k,
                         const typename Config::dtype* v, const int* cu_q, const int* cu_k, typename Config::dtype* o,
                         float* lse, float scale, int left, int right, float softcap, long long q_token,
                         long long q_head, long long k_token, long long k_head, long long v_token, long long v_head,
                         long long o_token, long long o_head, long long batch, long long tokens_q, long long tokens_k,
                         long long hq, long long hkv, long long d, long long dv) {
  using namespace tilewright;
  using namespace tilewright::attention;
  using G = MmaGeometry<Config>;
  static_assert(Config::pack == 1, "a block has rows of one head");
  const i32 batches = static_cast<i32>(batch);
  const Piece piece =
      find_piece<Config>(cu_q, batches, static_cast<i32>(blockIdx.x), static_cast<int>(threadIdx.x) % kWarpSize);
  if (piece.batch == batches) return;
  const i32 first_query = cu_q[piece.batch], queries = cu_q[piece.batch + 1] - first_query;
  const i32 first_key = cu_k[piece.batch], keys = cu_k[piece.batch + 1] - first_key;
  const Problem problem = make_problem(1, hq, hkv, queries, keys, left, right, 1);

  // Longest first where the mask is causal.
  const i32 row_blocks = ceil_div(queries, i32{G::kBlockM});
  Work work{};
  work.row = (G::kCausal ? row_blocks - 1 - piece.block : piece.block) * G::kBlockM;
  work.head = static_cast<i32>(blockIdx.y);
  const KeyRange range = keys_of<G::kCausal, G::kWindow>(problem, work.row, work.row + G::kBlockM - 1);
  work.last_block = ceil_div(range.end, i32{G::kBlockN}) - 1;
  work.first_block = range.first / G::kBlockN < work.last_block ? range.first / G::kBlockN : work.last_block;
  if (work.last_block < 0) work.first_block = work.last_block = 0;

  // lse [hq, tokens_q]: the warp steps by the sequence's queries from head to head.
  float* const own_lse = G::kLse ? lse + first_query + i64{work.head} * (tokens_q - queries) : nullptr;
  const MmaArguments<Config> arguments{{q + first_query * q_token, 0, q_token, q_head},
                                       {k + first_key * k_token, 0, k_token, k_head},
                                       {v + first_key * v_token, 0, v_token, v_head},
                                       {o + first_query * o_token, 0, o_token, o_head},
                                       own_lse,
                                       static_cast<i32>(d),
                                       static_cast<i32>(dv)};
  run_mma(arguments, problem, make_scale<G::kSoftcap>(scale, softcap), work);
}
