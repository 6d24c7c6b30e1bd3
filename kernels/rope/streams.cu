// SPDX-License-Identifier: Apache-2.0
//
// rope (rope.cu has the arguments) without norms, for more of q and k than L2 holds. As in tokens.cu all heads of a
// token are in flight at once, and a block has no loop; but no head waits for the position, and the rows of cos and sin
// can stay in L2. A row is read again when its position comes again: by then q and k have pushed it out, unless their
// lines leave before it.
//
//   reads    of q and k: 0 as usual; 1 past L1; 2 lines leave L2 first
//   writes   1: lines of q_out and k_out leave L2 first (st.cs)
//   table    1: rows of cos and sin leave L2 last
//   ahead    1: positions are in L2 before their tokens begin, and the table soon after the kernel has begun
//   sides    2: a thread has both sides of its pairs. 1: it has one, of halved pairs, and gets the other from a lane
//            of the same head, so that a warp reads and writes contiguous bytes
//
// No shared memory. sm_80 and later.

#include "device/ptx/prefetch.cuh"
#include "rope/full_heads.cuh"
#include "rope/rope.cu"

namespace rope {

// What a thread has of a head: `kVectors` vectors, from the given columns, of pairs from `pair` on.
template <class Config, int kSides = Config::sides>
struct Piece;

// Both sides of pairs; if they stay, two neighbouring vectors.
template <class Config>
struct Piece<Config, 2> {
  enum : int { kVec = Config::vec, kVectors = 2 };
  using Loaded = Packed<typename Config::dtype, kVec>;

  bool exists, turns;
  i64 pair, columns[kVectors];

  __device__ __forceinline__ Piece(int item, i64 d, i64 rot) {
    const Place<Config, kVec> place(item, rot);
    exists = 2 * place.pair < d;
    turns = place.turns;
    pair = place.pair;
    columns[0] = place.first;
    columns[1] = place.second;
  }

  __device__ __forceinline__ void turn(const Loaded (&loaded)[kVectors], const float (&cos)[kVec],
                                       const float (&sin)[kVec], float (&values)[kVectors][kVec]) const {
    to_float(loaded[0], values[0]);
    to_float(loaded[1], values[1]);
    if (turns) rope::turn<Config>(values[0], values[1], cos, sin);
  }
};

// One side of halved pairs, or a vector that stays.
template <class Config>
struct Piece<Config, 1> {
  enum : int { kVec = Config::vec, kVectors = 1 };
  using Loaded = Packed<typename Config::dtype, kVec>;
  static_assert(Config::style == "halved", "interleaved pairs have both sides in one vector");

  bool exists, turns, is_second;
  int other;  // the lane of the warp with the other side; of a vector that stays, its own
  i64 pair, columns[kVectors];

  __device__ __forceinline__ Piece(int item, i64 d, i64 rot) {
    const i64 column = i64{item} * kVec;
    exists = column < d;
    turns = column < rot;
    is_second = turns && column >= rot / 2;
    pair = is_second ? column - rot / 2 : column;
    columns[0] = column;
    const int lane = static_cast<int>(threadIdx.x) % kWarpSize, apart = static_cast<int>(rot / 2) / kVec;
    other = turns ? (is_second ? lane - apart : lane + apart) : lane;
  }

  // All lanes of the warp call it.
  __device__ __forceinline__ void turn(const Loaded (&loaded)[kVectors], const float (&cos)[kVec],
                                       const float (&sin)[kVec], float (&values)[kVectors][kVec]) const {
    struct Words {
      u32 words[sizeof(Loaded) / 4];
    };
    auto words = __builtin_bit_cast(Words, loaded[0]);
#pragma unroll
    for (u32& word : words.words) word = __shfl_sync(kFullMask, word, other);
    float others[kVec];
    to_float(__builtin_bit_cast(Loaded, words), others);
    to_float(loaded[0], values[0]);
    if (!turns) return;
#pragma unroll
    for (int j = 0; j < kVec; ++j) {
      const float across = others[j] * sin[j];
      values[0][j] = fmaf(values[0][j], cos[j], is_second ? across : -across);
    }
  }
};

// Asks L2 for the position of a token that begins some microseconds later, a sector of eight at once, and for all rows
// of cos and sin, a line a thread of the first `table_blocks` blocks.
template <class Config>
__device__ __forceinline__ void ask_ahead(const Tensors<typename Config::dtype>& tensors, i64 table_blocks, i64 rot,
                                          i64 t) {
  constexpr int kAhead = 1024, kSectorTokens = 8, kLineFloats = 32, kThreads = Config::num_warps * kWarpSize;
  if (t % kSectorTokens == 0 && threadIdx.x % Config::threads_per_token == 0 && t + kAhead < tensors.tokens) {
    ptx::prefetch_l2(tensors.position + t + kAhead);
  }
  if (blockIdx.x >= table_blocks) return;
  const i64 at = (i64{blockIdx.x} * kThreads + threadIdx.x) * kLineFloats;
  if (at >= tensors.positions * (rot / 2)) return;
  ptx::prefetch_l2(tensors.cos + at);
  ptx::prefetch_l2(tensors.sin + at);
}

// The heads of a token, first of q and then of k.
template <class T>
struct HeadsOfToken {
  T *of_q, *of_k;
  i64 q_stride, k_stride;
  int hq;

  __device__ __forceinline__ HeadsOfToken(const Heads<T>& q, const Heads<T>& k, i64 t, int q_heads)
      : of_q(q.at(t, 0)), of_k(k.at(t, 0)), q_stride(q.head), k_stride(k.head), hq(q_heads) {}

  // Selects before it multiplies: neither a branch nor two products.
  __device__ __forceinline__ T* at(int h) const {
    const bool is_q = h < hq;
    return (is_q ? of_q : of_k) + i64{is_q ? h : h - hq} * (is_q ? q_stride : k_stride);
  }
};

// Config: num_warps, threads_per_token, lanes (of a head), vec, unroll, sides, reads, writes, table, ahead; static_dims
// with d and rot.
template <class Config>
__device__ __forceinline__ void streams(const Tensors<typename Config::dtype>& tensors, i64 table_blocks) {
  using T = typename Config::dtype;
  constexpr int kVec = Config::vec, kLanes = Config::lanes, kUnroll = Config::unroll;
  constexpr int kTokens = Config::num_warps * kWarpSize / Config::threads_per_token;
  constexpr int kHeads = Config::threads_per_token / kLanes, kVectors = Piece<Config>::kVectors;
  constexpr Load kRead = Config::reads == 2   ? Load::kEvictFirst
                         : Config::reads == 1 ? Load::kStreaming
                                              : Load::kDefault;
  constexpr Store kWrite = Config::writes == 1 ? Store::kStreaming : Store::kDefault;
  constexpr Load kReadTable = Config::table == 1 ? Load::kEvictLast : Load::kConstant;
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");
  static_assert(Config::threads_per_token % kLanes == 0, "a token has whole heads at once");
  // A head has no more columns than its lanes' vectors.
  const i64 d = Config::d ? Config::d : static_cast<u32>(tensors.d);
  const i64 rot = Config::rot ? Config::rot : static_cast<u32>(tensors.rot);
  const Piece<Config> piece(static_cast<int>(threadIdx.x % kLanes), d, rot);
  const int first_head = static_cast<int>(threadIdx.x % Config::threads_per_token / kLanes);
  const int hq = static_cast<int>(tensors.hq), heads = hq + static_cast<int>(tensors.hkv);
  // A block's only token is there, and is the same for all threads.
  const i64 t = kTokens == 1 ? i64{blockIdx.x} : i64{blockIdx.x} * kTokens + threadIdx.x / Config::threads_per_token;
  const bool present = (kTokens == 1 || t < tensors.tokens) && piece.exists;
  // Only the last of a thread's heads may be none.
  const auto has = [&](int u) { return present && (u + 1 < kUnroll || first_head + u * kHeads < heads); };

  // All heads. Surplus lanes load what others load, and drop it: a branch would hold back the loads behind it.
  const i64 read_token = kTokens == 1 || t < tensors.tokens ? t : tensors.tokens - 1;
  Packed<T, kVec> loaded[kUnroll][kVectors];
  const HeadsOfToken<const T> from(tensors.q, tensors.k, read_token, hq);
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int h = first_head + u * kHeads;
    const T* const head = from.at(u + 1 < kUnroll || h < heads ? h : heads - 1);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      loaded[u][i] = load_packed<kVec, kRead>(head + (piece.exists ? piece.columns[i] : 0));
    }
  }

  if constexpr (Config::ahead == 1) ask_ahead<Config>(tensors, table_blocks, rot, t);

  // The angles; without a position those of the first row, whose cosines become NaN. The position comes after the
  // heads, and no load crosses the barrier: else the compiler compares the position, and waits for it, before it loads
  // heads.
  __syncwarp();
  const int position = tensors.position[read_token];
  const bool is_known = position >= 0 && position < tensors.positions;
  float cos[kVec], sin[kVec];
  if (piece.turns) {
    const i64 at = (is_known ? i64{position} : 0) * (rot / 2) + piece.pair;
    to_float(load_packed<kVec, kReadTable>(tensors.cos + at), cos);
    to_float(load_packed<kVec, kReadTable>(tensors.sin + at), sin);
#pragma unroll
    for (int j = 0; j < kVec; ++j) cos[j] = is_known ? cos[j] : __builtin_bit_cast(float, 0x7fffffffu);
  }

  // Turned, and out.
  const HeadsOfToken<T> to(tensors.q_out, tensors.k_out, t, hq);
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (kVectors == 2 && !has(u)) continue;
    float values[kVectors][kVec];
    piece.turn(loaded[u], cos, sin, values);
    if (!has(u)) continue;
    T* const head = to.at(first_head + u * kHeads);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) store_vector<kWrite>(head + piece.columns[i], from_float<T>(values[i]));
  }
}

}  // namespace rope

// At most 64 registers a thread: an SM has 32 warps at least.
template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, 32 / Config::num_warps)
    rope_streams(long long tokens, long long hq, long long hkv, long long d, long long rot, long long positions,
                 const typename Config::dtype* q, const typename Config::dtype* k, const float* cos, const float* sin,
                 const int* position, typename Config::dtype* q_out, typename Config::dtype* k_out, long long q_token,
                 long long q_head, long long k_token, long long k_head, long long q_out_token, long long q_out_head,
                 long long k_out_token, long long k_out_head, long long table_blocks) {
  const rope::Tensors<typename Config::dtype> tensors{{q, q_token, q_head},
                                                      {k, k_token, k_head},
                                                      cos,
                                                      sin,
                                                      position,
                                                      nullptr,
                                                      nullptr,
                                                      {q_out, q_out_token, q_out_head},
                                                      {k_out, k_out_token, k_out_head},
                                                      0.0f,
                                                      tokens,
                                                      hq,
                                                      hkv,
                                                      d,
                                                      rot,
                                                      positions};
  rope::with_full_heads<Config, Config::sides * Config::vec * Config::lanes>(
      d, rot, [&]<class C>() { rope::streams<C>(tensors, table_blocks); });
}
