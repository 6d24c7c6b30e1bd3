// SPDX-License-Identifier: Apache-2.0
//
// attention by mma.sync, sm_80 and later: o = softmax(mask(scale · q kᵀ)) v, and lse. d and dv are multiples of 8.
//
//   q [b, sq, hq, d]  k [b, sk, hkv, d]  v [b, sk, hkv, dv]  o [b, sq, hq, dv], each at strides of its own
//   vec = 16   rows of q, k and v start at multiples of 16 bytes, those of o at multiples of 4
//   vec = 2    any address
//
// A block has block_m rows of a head (or of a few packed heads), a warp 16 of them. It goes through the keys that they
// see, block_n at a time. Registers hold a warp's scores, which become weights, and its results.
//
//   copies    k₁ v₁ │ k₂        │ v₂      │ k₃        │ v₃      │ …      while the previous block is multiplied
//   warp            │ q k₁ᵀ     │ p₁ v₁   │ q k₂ᵀ     │ p₂ v₂   │
//                   │   softmax           │   softmax
//
// Shared memory: (block_m · parts(d) + 2 · block_n · (parts(d) + parts(dv))) · 128 bytes, parts(x) = ⌈x / 64⌉.

#include "device/ptx/cp_async.cuh"
#include "device/ptx/math.cuh"
#include "device/shared.cuh"
#include "mma_tile.cuh"
#include "rounding.cuh"
#include "softmax.cuh"
#include "work.cuh"

namespace tilewright::attention {

template <class Config>
struct MmaGeometry {
  using T = typename Config::dtype;
  enum : bool {
    kCausal = Config::causal == "yes",
    kWindow = Config::window == "yes",
    kSoftcap = Config::softcap == "yes",
    kLse = Config::lse == "yes",
  };
  enum : int {
    kBlockM = Config::block_m,
    kBlockN = Config::block_n,
    kHead = Config::block_d,
    kHeadV = Config::block_dv,
    kPack = Config::pack,
    kVec = Config::vec,
    kWarpRows = 16,
    kWarps = kBlockM / kWarpRows,
    kThreads = kWarps * kWarpSize,
    kStep = 16,
    kSteps = kHead / kStep,
    kStepsV = kBlockN / kStep,
    kScores = kBlockN / 2,
    kResults = kHeadV / 2,
    kStages = 2,
  };
  static_assert(sizeof(T) == 2, "elements have 16 bits");
  static_assert(kBlockM % kWarpRows == 0 && kBlockM % kPack == 0, "a block has whole warps, and whole tokens");
  static_assert(kBlockN % kStep == 0 && kHead % kStep == 0 && kHeadV % kStep == 0, "products have whole steps");
  static_assert(kHead <= 256 && kHeadV <= 256, "heads have 256 columns at most");
  static_assert(kScores + kResults + kScores / 2 <= 176, "scores, weights and results stay in registers");
  static_assert(kVec == 16 || kVec == 2, "16 bytes or an element");

  using TileQ = MmaTile<T, kBlockM, kHead>;
  using TileK = MmaTile<T, kBlockN, kHead>;
  using TileV = MmaTile<T, kBlockN, kHeadV>;
  struct Storage {
    alignas(128) unsigned char q[TileQ::kBytes];
    alignas(128) unsigned char k[kStages][TileK::kBytes];
    alignas(128) unsigned char v[kStages][TileV::kBytes];
  };
};

// A tensor [b, tokens, heads, columns], at strides in elements.
template <class T>
struct Tensor {
  T* data;
  i64 batch, token, head;

  __device__ __forceinline__ T* at(i64 of_batch, i64 of_token, i64 of_head) const {
    return data + of_batch * batch + of_token * token + of_head * head;
  }
};

template <class Config>
struct MmaArguments {
  using T = typename Config::dtype;
  Tensor<const T> q, k, v;
  Tensor<T> o;
  float* lse;
  i32 columns, columns_v;  // d and dv
};

// A warp's work on a block's rows.
template <class Config>
struct MmaWarp {
  using G = MmaGeometry<Config>;
  using T = typename G::T;

  int warp, lane;
  Rows rows;
  float results[G::kResults];

  // scores = q kᵀ.
  __device__ __forceinline__ void score(float (&scores)[G::kScores], const unsigned char* q,
                                        const unsigned char* k) const {
#pragma unroll
    for (float& each : scores) each = 0.0f;
#pragma unroll
    for (int step = 0; step < G::kSteps; ++step) {
      u32 a[4];
      G::TileQ::load_a(a, q, warp * G::kWarpRows, step, lane);
#pragma unroll
      for (int group = 0; group < G::kBlockN / 16; ++group) {
        u32 b[4];
        G::TileK::load_b(b, k, group * 16, step, lane);
        multiply_16<T>(scores + group * 8, a, b);
      }
    }
  }

  // Turns raw scores into weights, and rescales the results so far to the new bases.
  __device__ __forceinline__ void weigh_scores(float (&scores)[G::kScores], const Problem& problem, const Scale& scale,
                                               const Work& work, i32 block) {
    change_scores<G::kSoftcap>(scores, scale);
    mask(scores, problem, work.row, block);
    float rescale[2] = {1.0f, 1.0f};
    if (raise_bases(rows, scores, rescale, scale.factor)) {
#pragma unroll
      for (int i = 0; i < G::kResults; ++i) results[i] *= rescale[i / 2 % 2];
    }
    weigh<G::kLse, false, 0, G::kScores>(rows, scores, scale.factor);
  }

  // results += weights · v; adds up the weights as rounded for the product.
  __device__ __forceinline__ void add_values(const float (&scores)[G::kScores], const unsigned char* v) {
#pragma unroll
    for (int step = 0; step < G::kStepsV; ++step) {
      u32 weights[4];
      round_step<T>(weights, scores, step);
#pragma unroll
      for (int i = 0; i < 4; ++i) rows.rounded_sum[i % 2] = add_pair<T>(rows.rounded_sum[i % 2], weights[i]);
#pragma unroll
      for (int group = 0; group < G::kHeadV / 16; ++group) {
        u32 b[4];
        G::TileV::load_b_transposed(b, v, step * G::kStep, group, lane);
        multiply_16<T>(results + group * 8, weights, b);
      }
    }
  }

  // Stores o and lse of the thread's two rows.
  __device__ __forceinline__ void store(const MmaArguments<Config>& arguments, const Problem& problem, const Work& work,
                                        const Scale& scale) const {
    const auto of_row = [](float sum) {
      sum += __shfl_xor_sync(kFullMask, sum, 1);
      return sum + __shfl_xor_sync(kFullMask, sum, 2);
    };
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = of_row(rows.sum[half]), divisor = of_row(rows.rounded_sum[half]);
      const float inverse = divisor > 0.0f ? ptx::rcp_approx(divisor) : 0.0f;
      const i32 row = work.row + warp * G::kWarpRows + lane / 4 + half * 8;
      const i32 token = row / G::kPack, head = work.head + row % G::kPack;
      if (token >= problem.queries) continue;
      if constexpr (G::kLse) {
        const i64 at = (i64{work.batch} * problem.heads + head) * problem.queries + token;
        if (lane % 4 == 0) arguments.lse[at] = log_sum(rows.base[half], sum, scale.factor);
      }
      T* const to = arguments.o.at(work.batch, token, head);
#pragma unroll
      for (int group = 0; group < G::kHeadV / 8; ++group) {
        const int column = group * 8 + lane % 4 * 2;
        if (column >= arguments.columns_v) break;
        const float pair[2] = {results[group * 4 + half * 2] * inverse, results[group * 4 + half * 2 + 1] * inverse};
        if constexpr (G::kVec == 16) {
          *reinterpret_cast<u32*>(to + column) = round_pair<T>(pair[0], pair[1]);
        } else {
          to[column] = from_float<T>(pair[0]);
          to[column + 1] = from_float<T>(pair[1]);
        }
      }
    }
  }

 private:
  // Sets scores to −inf where a row does not see a key; skips blocks that all of the warp's rows see whole.
  __device__ __forceinline__ void mask(float (&scores)[G::kScores], const Problem& problem, i32 first_row,
                                       i32 block) const {
    const i32 warp_row = first_row + warp * G::kWarpRows;
    const i32 key = block * G::kBlockN;
    const KeyRange first = keys_of_row<Config>(problem, warp_row);
    const KeyRange last = keys_of_row<Config>(problem, warp_row + G::kWarpRows - 1);
    if (key >= last.first && key + G::kBlockN <= first.end) return;
    const i32 own_key = key + lane % 4 * 2;
    i32 begin[2], end[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const KeyRange range = keys_of_row<Config>(problem, warp_row + lane / 4 + half * 8);
      begin[half] = range.first - own_key;
      end[half] = range.end - own_key;
    }
    mask_scores<G::kWindow>(scores, begin, end);
  }
};

// Computes a block's piece of work.
template <class Config>
__device__ __forceinline__ void run_mma(const MmaArguments<Config>& arguments, const Problem& problem,
                                        const Scale& scale, const Work& work) {
  using G = MmaGeometry<Config>;
  auto& storage = *shared_storage<typename G::Storage>();
  const int thread = static_cast<int>(threadIdx.x);
  const i32 key_head = work.head / (problem.heads / problem.key_heads);

  const auto load_queries = [&] {
    const i32 rows = problem.queries * G::kPack - work.row;
    G::TileQ::template load<G::kVec, G::kThreads>(storage.q, rows, arguments.columns, thread, [&](int row) {
      const i32 of_head = work.row + row;
      return arguments.q.at(work.batch, of_head / G::kPack, work.head + of_head % G::kPack);
    });
  };
  const auto load_keys = [&](i32 block, int stage) {
    const i32 key = block * G::kBlockN;
    G::TileK::template load<G::kVec, G::kThreads>(
        storage.k[stage], problem.keys - key, arguments.columns, thread,
        [&](int row) { return arguments.k.at(work.batch, key + row, key_head); });
  };
  const auto load_values = [&](i32 block, int stage) {
    const i32 key = block * G::kBlockN;
    G::TileV::template load<G::kVec, G::kThreads>(
        storage.v[stage], problem.keys - key, arguments.columns_v, thread,
        [&](int row) { return arguments.v.at(work.batch, key + row, key_head); });
  };

  // Copy queries and keys as one group, values as another.
  load_queries();
  load_keys(work.first_block, 0);
  ptx::cp_async_commit();
  load_values(work.first_block, 0);
  ptx::cp_async_commit();

  MmaWarp<Config> warp;
  warp.warp = thread / kWarpSize;
  warp.lane = thread % kWarpSize;
  warp.rows = fresh_rows();
#pragma unroll
  for (float& result : warp.results) result = 0.0f;
  int stage = 0;
#pragma unroll 1
  for (i32 block = work.first_block; block <= work.last_block; ++block, stage ^= 1) {
    const bool is_last = block == work.last_block;

    // These keys have arrived, and all threads have read the keys before them: start the next copy.
    ptx::cp_async_wait<1>();
    __syncthreads();
    if (!is_last) load_keys(block + 1, stage ^ 1);
    ptx::cp_async_commit();
    float scores[G::kScores];
    warp.score(scores, storage.q, storage.k[stage]);
    warp.weigh_scores(scores, problem, scale, work, block);

    // The same for values.
    ptx::cp_async_wait<1>();
    __syncthreads();
    if (!is_last) load_values(block + 1, stage ^ 1);
    ptx::cp_async_commit();
    warp.add_values(scores, storage.v[stage]);
  }
  warp.store(arguments, problem, work, scale);
}

}  // namespace tilewright::attention

template <class Config>
__global__ void __launch_bounds__(tilewright::attention::MmaGeometry<Config>::kThreads)
    attention_mma(const typename Config::dtype* q, const typename Config::dtype* k, const typename Config::dtype* v,
                  typename Config::dtype* o, float* lse, float scale, int left, int right, float softcap,
                  long long q_batch, long long q_token, long long q_head, long long k_batch, long long k_token,
                  long long k_head, long long v_batch, long long v_token, long long v_head, long long o_batch,
                  long long o_token, long long o_head, long long b, long long hq, long long hkv, long long sq,
                  long long sk, long long d, long long dv) {
  using namespace tilewright;
  using namespace tilewright::attention;
  using G = MmaGeometry<Config>;
  // The longest pieces of a causal problem come first; of any other, pieces that share keys are adjacent.
  const i64 sections = G::kCausal ? 1 : b * (hq / G::kPack);
  const Problem problem = make_problem(b, hq, hkv, sq, sk, left, right, sections);
  const MmaArguments<Config> arguments{{q, q_batch, q_token, q_head},
                                       {k, k_batch, k_token, k_head},
                                       {v, v_batch, v_token, v_head},
                                       {o, o_batch, o_token, o_head},
                                       lse,
                                       static_cast<i32>(d),
                                       static_cast<i32>(dv)};
  run_mma(arguments, problem, make_scale<G::kSoftcap>(scale, softcap),
          Order<Config>(problem).work(problem, blockIdx.x));
}
