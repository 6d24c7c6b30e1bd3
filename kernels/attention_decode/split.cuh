// SPDX-License-Identifier: Apache-2.0
#pragma once

// Decoding by mma.sync, over any cache; sm_80 and later. d and dv are multiples of 8, rows of q, k and v start at multiples
// of 16 bytes, those of o at multiples of 8.
//
// shares.cuh tells which units of keys a block goes through. Of a unit each warp has `keys` keys for itself: a ring of
// its own, filled by cp.async, scores, weights and results of all rows of the pack. Warps meet at the end of a pack.
//
//   a warp    copies   ▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪    stages - 1 steps ahead, on into the next pack
//             q kᵀ, softmax, p v   ▪▪▪▪▪▪▪▪▪▪▪▪
//   a block   q of the pack into shared memory │ … │ results of the warps added up there │ o, or a part of it
//
// A part is fp32: results as they are, and for each row the base, as a power of two, and the sums of weights. A block has
// two at most: of a pack that began before it, and of one that ends behind it.

#include "attention/mma_tile.cuh"
#include "attention/rounding.cuh"
#include "attention/softmax.cuh"
#include "cache.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/ptx/math.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"
#include "shares.cuh"

namespace tilewright::attention {

template <class Config>
struct SplitGeometry {
  using T = typename Config::dtype;
  enum : bool {
    kWindow = Config::window == "yes",
    kSoftcap = Config::softcap == "yes",
    kLse = Config::lse == "yes",
  };
  enum : int {
    kRows = Config::block_m,
    kTiles = kRows / 16,
    kWarps = Config::num_warps,
    kThreads = kWarps * kWarpSize,
    kKeys = Config::keys,
    kUnit = kWarps * kKeys,
    kStages = Config::stages,
    kHead = Config::block_d,
    kHeadV = Config::block_dv,
    kSteps = kHead / 16,
    kScores = kKeys / 2,
    kResults = kHeadV / 2,
    kPitch = kHeadV + 8,  // of results in shared memory: rows lie in different banks
    kFacts = 4,           // floats a row beside a part: base, sum, rounded sum
    kPart = kRows * (kHeadV + kFacts),
    kCombineWarps = 4,
  };
  static_assert(sizeof(T) == 2, "elements have 16 bits");
  static_assert(kRows % 16 == 0 && kKeys % 16 == 0 && kHead % 16 == 0 && kHeadV % 32 == 0, "products have whole steps");
  static_assert(kHead <= 256 && kTiles * kHeadV <= 256, "results stay in registers");
  static_assert(kStages >= 2, "a step is copied while another is multiplied");

  using TileQ = MmaTile<T, kRows, kHead>;
  using TileK = MmaTile<T, kKeys, kHead>;
  using TileV = MmaTile<T, kKeys, kHeadV>;
  struct Stage {
    alignas(128) unsigned char k[TileK::kBytes];
    alignas(128) unsigned char v[TileV::kBytes];
  };
  struct Storage {
    alignas(128) unsigned char q[TileQ::kBytes];
    Stage stages[kWarps][kStages];
    alignas(16) float results[kRows * kPitch];
    // Of the warps' rows, and then of the block's.
    float base[kWarps + 1][kRows], sum[kWarps + 1][kRows], rounded[kWarps + 1][kRows];
    ScanStorage<kWarps> scan;
  };
};

// Where packs are shared out among blocks.
template <class Config>
struct ShareGeometry : SplitGeometry<Config> {
  enum : int { kToll = Config::toll };
};

template <class Config>
struct SplitArguments {
  using T = typename Config::dtype;
  Rows4<const T> q;
  Rows4<T> o;
  float* lse;
  float* parts;
  i32 columns, columns_v;  // d and dv
};

// 2^((base − of) · factor): what sums over `base` are worth over `of`; nothing where no key was seen.
__device__ __forceinline__ float worth(float base, float of, float factor) {
  return base == -kInfinity ? 0.0f : ptx::ex2_approx((base - of) * factor);
}

// A warp's rows of a pack, over the keys that it had.
template <class Config>
struct SplitWarp {
  using G = SplitGeometry<Config>;
  using T = typename G::T;

  int warp, lane;
  Rows rows[G::kTiles];
  float results[G::kTiles][G::kResults];

  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int tile = 0; tile < G::kTiles; ++tile) {
      rows[tile] = fresh_rows();
#pragma unroll
      for (float& result : results[tile]) result = 0.0f;
    }
  }

  __device__ __forceinline__ void add_keys(const DecodeCall& call, const Scale& scale, const Place& place, i32 key,
                                           const unsigned char* q, const typename G::Stage& stage) {
#pragma unroll
    for (int tile = 0; tile < G::kTiles; ++tile) {
      float scores[G::kScores];
#pragma unroll
      for (float& each : scores) each = 0.0f;
#pragma unroll
      for (int step = 0; step < G::kSteps; ++step) {
        u32 a[4];
        G::TileQ::load_a(a, q, tile * 16, step, lane);
#pragma unroll
        for (int group = 0; group < G::kKeys / 16; ++group) {
          u32 b[4];
          G::TileK::load_b(b, stage.k, group * 16, step, lane);
          multiply_16<T>(scores + group * 8, a, b);
        }
      }

      change_scores<G::kSoftcap>(scores, scale);
      mask(scores, call, place, tile, key);
      float rescale[2] = {1.0f, 1.0f};
      if (raise_bases(rows[tile], scores, rescale, scale.factor)) {
#pragma unroll
        for (int i = 0; i < G::kResults; ++i) results[tile][i] *= rescale[i / 2 % 2];
      }
      weigh<G::kLse, false, 0, G::kScores>(rows[tile], scores, scale.factor);

#pragma unroll
      for (int step = 0; step < G::kKeys / 16; ++step) {
        u32 weights[4];
        round_step<T>(weights, scores, step);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          rows[tile].rounded_sum[i % 2] = add_pair<T>(rows[tile].rounded_sum[i % 2], weights[i]);
        }
#pragma unroll
        for (int group = 0; group < G::kHeadV / 16; ++group) {
          u32 b[4];
          G::TileV::load_b_transposed(b, stage.v, step * 16, group, lane);
          multiply_16<T>(results[tile] + group * 8, weights, b);
        }
      }
    }
  }

  // Bases and sums of the warp's rows. Others see them behind a barrier.
  template <class Storage>
  __device__ __forceinline__ void put_facts(Storage& storage) const {
    const auto of_row = [](float sum) {
      sum += __shfl_xor_sync(kFullMask, sum, 1);
      return sum + __shfl_xor_sync(kFullMask, sum, 2);
    };
#pragma unroll
    for (int i = 0; i < 2 * G::kTiles; ++i) {
      const int row = i * 8 + lane / 4;
      const float sum = of_row(rows[i / 2].sum[i % 2]), rounded = of_row(rows[i / 2].rounded_sum[i % 2]);
      if (lane % 4 != 0) continue;
      storage.base[warp][row] = rows[i / 2].base[i % 2];
      storage.sum[warp][row] = sum;
      storage.rounded[warp][row] = rounded;
    }
  }

  // Adds up what the warps have, in storage.results and the last of storage.base, sum and rounded. All threads call.
  __device__ __forceinline__ void meet(typename G::Storage& storage, float factor) {
    put_facts(storage);
    __syncthreads();
    const auto base_of = [&](int row) {
      float base = storage.base[0][row];
#pragma unroll
      for (int i = 1; i < G::kWarps; ++i) base = fmaxf(base, storage.base[i][row]);
      return base;
    };
    if (const int row = warp * kWarpSize + lane; row < G::kRows) {
      const float base = base_of(row);
      float sum = 0.0f, rounded = 0.0f;
#pragma unroll
      for (int i = 0; i < G::kWarps; ++i) {
        const float each = worth(storage.base[i][row], base, factor);
        sum += each * storage.sum[i][row];
        rounded += each * storage.rounded[i][row];
      }
      storage.base[G::kWarps][row] = base;
      storage.sum[G::kWarps][row] = sum;
      storage.rounded[G::kWarps][row] = rounded;
    }
    float worths[2 * G::kTiles];
#pragma unroll
    for (int i = 0; i < 2 * G::kTiles; ++i) {
      worths[i] = worth(rows[i / 2].base[i % 2], base_of(i * 8 + lane / 4), factor);
    }
    // In each turn the warps add to different columns.
    constexpr int kGroups = G::kHeadV / 8, kEach = (kGroups + G::kWarps - 1) / G::kWarps;
#pragma unroll 1
    for (int turn = 0; turn < G::kWarps; ++turn) {
      const int place = (warp + turn) % G::kWarps * kEach;
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        if (group / kEach != place / kEach) continue;
#pragma unroll
        for (int i = 0; i < 2 * G::kTiles; ++i) {
          float* const at = storage.results + (i * 8 + lane / 4) * G::kPitch + lane % 4 * 2 + group * 8;
          const int from = group * 4 + i % 2 * 2;
          Vector<float, 2> pair{{results[i / 2][from] * worths[i], results[i / 2][from + 1] * worths[i]}};
          if (turn > 0) {
            const auto before = load_vector<2>(at);
            pair[0] += before[0];
            pair[1] += before[1];
          }
          store_vector(at, pair);
        }
      }
      __syncthreads();
    }
  }

 private:
  // −inf where a row does not see a key; steps that all rows see whole are left as they are.
  __device__ __forceinline__ void mask(float (&scores)[G::kScores], const DecodeCall& call, const Place& place,
                                       int tile, i32 key) const {
    const i32 diagonal = place.sequence.length - call.queries;
    const bool has_first = G::kWindow && call.left >= 0;
    if (key + G::kKeys <= diagonal + 1 && (!has_first || key >= place.sequence.length - 1 - call.left)) return;
    const i32 own_key = key + lane % 4 * 2;
    const i32 first_row = place.pack % ceil_div(call.rows(), i32{G::kRows}) * G::kRows + tile * 16 + lane / 4;
    i32 begin[2], end[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const i32 last = diagonal + (first_row + half * 8) / call.group;
      end[half] = (last < place.sequence.length ? last + 1 : place.sequence.length) - own_key;
      begin[half] = has_first ? last - call.left - own_key : 0 - own_key;
    }
    mask_scores<G::kWindow>(scores, begin, end);
  }
};

// o and lse of a pack that is finished, or a part of it.
template <class Config>
__device__ __forceinline__ void store_pack(const SplitArguments<Config>& arguments, const DecodeCall& call,
                                           typename SplitGeometry<Config>::Storage& storage, const Place& place,
                                           float factor, float* part) {
  using G = SplitGeometry<Config>;
  using T = typename G::T;
  constexpr int kVec = 4, kVectors = G::kHeadV / kVec;
  const int thread = static_cast<int>(threadIdx.x);
  const i32 row_blocks = ceil_div(call.rows(), i32{G::kRows});
  const i32 key_head = place.pack / row_blocks, first_row = place.pack % row_blocks * G::kRows;
  const i32 rows = call.rows() - first_row < G::kRows ? call.rows() - first_row : i32{G::kRows};
  const float* const sums = storage.sum[G::kWarps];
  const float* const divisors = storage.rounded[G::kWarps];
  for (int i = thread; i < rows * kVectors; i += G::kThreads) {
    const int row = i / kVectors, column = i % kVectors * kVec;
    if (column >= arguments.columns_v) continue;
    const auto values = load_vector<kVec>(storage.results + row * G::kPitch + column);
    if (part != nullptr) {
      store_vector(part + row * G::kHeadV + column, values);
      continue;
    }
    const float inverse = divisors[row] > 0.0f ? ptx::rcp_approx(divisors[row]) : 0.0f;
    Vector<T, kVec> rounded;
#pragma unroll
    for (int e = 0; e < kVec; ++e) rounded[e] = from_float<T>(values[e] * inverse);
    const i32 of_pack = first_row + row;
    store_vector(
        arguments.o.at(place.batch, of_pack / call.group, key_head * call.group + of_pack % call.group) + column,
        rounded);
  }
  if (thread >= rows) return;
  const float base = storage.base[G::kWarps][thread];
  if (part != nullptr) {
    const Vector<float, 4> facts{{base == -kInfinity ? base : base * factor, sums[thread], divisors[thread], 0.0f}};
    store_vector(part + G::kRows * G::kHeadV + thread * G::kFacts, facts);
  } else if (G::kLse) {
    const i32 of_pack = first_row + thread;
    const i64 head = i64{place.batch} * call.heads + key_head * call.group + of_pack % call.group;
    arguments.lse[head * call.queries + of_pack / call.group] = log_sum(base, sums[thread], factor);
  }
}

// A thread's part of the queries of a pack, on their way to shared memory.
template <class Config>
struct QueryTile {
  using G = SplitGeometry<Config>;
  using T = typename G::T;
  enum : int {
    kUnits = G::kRows * G::TileQ::kUnits,
    kEach = (kUnits + G::kThreads - 1) / G::kThreads,
  };
  Vector<T, 8> elements[kEach];

  __device__ __forceinline__ void fetch(const SplitArguments<Config>& arguments, const DecodeCall& call,
                                        const Place& place, int thread) {
    const i32 row_blocks = ceil_div(call.rows(), i32{G::kRows});
    const i32 key_head = place.pack / row_blocks, first_row = place.pack % row_blocks * G::kRows;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = thread + i * G::kThreads, row = at / G::TileQ::kUnits, unit = at % G::TileQ::kUnits;
      const i32 of_pack = first_row + row;
      if (at < kUnits && of_pack < call.rows() && unit * 8 < arguments.columns) {
        elements[i] = load_vector<8>(
            arguments.q.at(place.batch, of_pack / call.group, key_head * call.group + of_pack % call.group) + unit * 8);
      } else {
#pragma unroll
        for (int e = 0; e < 8; ++e) elements[i][e] = T(0.0f);
      }
    }
  }
  __device__ __forceinline__ void store(unsigned char* tile, int thread) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = thread + i * G::kThreads;
      if (at < kUnits) {
        store_vector(reinterpret_cast<T*>(tile + G::TileQ::place(at / G::TileQ::kUnits, at % G::TileQ::kUnits)),
                     elements[i]);
      }
    }
  }
};

template <class Config, class Cache>
__device__ __forceinline__ void decode_split(const SplitArguments<Config>& arguments, const DecodeCall& call,
                                             const Cache& cache, const Scale& scale) {
  using G = ShareGeometry<Config>;
  using T = typename G::T;
  auto& storage = *shared_storage<typename G::Storage>();
  const int thread = static_cast<int>(threadIdx.x);
  SplitWarp<Config> warp;
  warp.warp = thread / kWarpSize;
  warp.lane = thread % kWarpSize;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  ptx::grid_launch_dependents();
  ptx::grid_dependency_wait();
#endif

  const i32 packs = packs_of_sequence<G>(call);
  const i32 row_blocks = ceil_div(call.rows(), i32{G::kRows});
  const i32 block = static_cast<i32>(blockIdx.x), blocks = static_cast<i32>(gridDim.x);
  i32 places = 0;
  const i32 begin = find_share<G>(call, storage.scan, packs, block, blocks, places);
  i32 left = share_begin(block + 1, blocks, places) - begin;
  if (left == 0) return;
  Place place;
  place.batch = storage.scan.batch;
  place.sequence = sequence_of<G>(call, place.batch);
  place.pack = (begin - storage.scan.before) / place.sequence.places;
  place.unit = (begin - storage.scan.before) % place.sequence.places;
  if (place.unit >= place.sequence.units) {
    // In the toll of a pack that another block has.
    --place.unit;
    left -= place.advance<G>(call, packs) - 1;
  }
  if (left <= 0) return;

  // The step that is copied next.
  Place ahead = place;
  i32 left_ahead = left;
  const auto key_of = [&](const Place& at) { return at.sequence.first + at.unit * G::kUnit + warp.warp * G::kKeys; };
  const auto copy_step = [&](int stage) {
    if (left_ahead > 0) {
      const i32 key = key_of(ahead), last = ahead.sequence.length - 1, head = ahead.pack / row_blocks;
      typename G::Stage& to = storage.stages[warp.warp][stage];
      const auto rows = cache.step(ahead.batch, key < last ? key : last, last, head);
      G::TileK::template load<16, kWarpSize>(to.k, last + 1 - key, arguments.columns, warp.lane,
                                             [&](int row) { return rows.key(row); });
      G::TileV::template load<16, kWarpSize>(to.v, last + 1 - key, arguments.columns_v, warp.lane,
                                             [&](int row) { return rows.value(row); });
      left_ahead -= ahead.advance<G>(call, packs);
    }
    ptx::cp_async_commit();
  };
#pragma unroll 1
  for (int stage = 0; stage + 1 < G::kStages; ++stage) copy_step(stage);

  // The queries of a pack: on their way to registers while the one before it ends.
  QueryTile<Config> queries;
  queries.fetch(arguments, call, place, thread);
  int stage = 0;
  i32 first_unit = place.unit;
  bool is_new = true;
#pragma unroll 1
  for (;;) {
    if (is_new) {
      // Nobody is still at the pack before.
      queries.store(storage.q, thread);
      warp.begin();
      __syncthreads();
    }
    Place next = place;
    const bool is_last = place.unit + 1 == place.sequence.units;
    left -= next.advance<G>(call, packs);
    if (left > 0 && is_last) queries.fetch(arguments, call, next, thread);

    // This step has come, and the one before it has been read by the warp: another takes its place.
    ptx::cp_async_wait<G::kStages - 2>();
    __syncwarp();
    copy_step(stage == 0 ? G::kStages - 1 : stage - 1);
    if (const i32 key = key_of(place); key < place.sequence.length) {
      warp.add_keys(call, scale, place, key, storage.q, storage.stages[warp.warp][stage]);
    }
    stage = stage + 1 == G::kStages ? 0 : stage + 1;

    is_new = is_last;
    if (is_last || left <= 0) {
      warp.meet(storage, scale.factor);
      float* const parts = arguments.parts + i64{block} * 2 * G::kPart;
      float* const part = first_unit > 0 ? parts : is_last ? nullptr : parts + G::kPart;
      store_pack<Config>(arguments, call, storage, place, scale.factor, part);
      first_unit = 0;
    }
    if (left <= 0) break;
    place = next;
  }
}

// The second kernel: each of its blocks some rows of a pack whose parts several blocks left, or of a sequence without keys.
template <class Config>
struct CombineStorage {
  using G = SplitGeometry<Config>;
  i32 before[G::kCombineWarps], places[G::kCombineWarps];
  float level[G::kCombineWarps], sum[G::kCombineWarps], rounded[G::kCombineWarps];
  float results[G::kCombineWarps][G::kHeadV];
};

template <class Config>
__device__ __forceinline__ void combine_parts(const SplitArguments<Config>& arguments, const DecodeCall& call,
                                              i32 blocks) {
  using G = ShareGeometry<Config>;
  using T = typename G::T;
  constexpr int kEach = G::kHeadV / kWarpSize;  // columns of a lane
  auto& storage = *shared_storage<CombineStorage<Config>>();
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarpSize, warp = thread / kWarpSize;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  ptx::grid_launch_dependents();
#endif
  const i32 packs = packs_of_sequence<G>(call);
  const i32 row_blocks = ceil_div(call.rows(), i32{G::kRows});
  const i32 batch = static_cast<i32>(blockIdx.x) / packs, pack = static_cast<i32>(blockIdx.x) % packs;

  i32 before = 0, places = 0;
  for (i32 i = thread; i < call.batches; i += G::kCombineWarps * kWarpSize) {
    const i32 here = sequence_of<G>(call, i).places * packs;
    places += here;
    if (i < batch) before += here;
  }
#pragma unroll
  for (int step = kWarpSize / 2; step > 0; step /= 2) {
    before += __shfl_xor_sync(kFullMask, before, step);
    places += __shfl_xor_sync(kFullMask, places, step);
  }
  if (lane == 0) {
    storage.before[warp] = before;
    storage.places[warp] = places;
  }
  __syncthreads();
  before = places = 0;
#pragma unroll
  for (int i = 0; i < G::kCombineWarps; ++i) {
    before += storage.before[i];
    places += storage.places[i];
  }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  ptx::grid_dependency_wait();
#endif
  const Sequence sequence = sequence_of<G>(call, batch);
  i32 first_block = 0, last_block = -1;  // none: no keys
  if (sequence.units > 0) {
    const i32 first_place = before + pack * sequence.places;
    first_block = share_of(first_place, blocks, places);
    last_block = share_of(first_place + sequence.units - 1, blocks, places);
    if (first_block == last_block) return;
  }
  // The pack began in the first block, there as its second part unless a pack before it ended there.
  const i32 key_head = pack / row_blocks, first_row = pack % row_blocks * G::kRows;
  const i32 rows = call.rows() - first_row < G::kRows ? call.rows() - first_row : i32{G::kRows};
#pragma unroll 1
  for (i32 row = static_cast<i32>(blockIdx.y); row < rows; row += static_cast<i32>(gridDim.y)) {
    float level = -kInfinity, sum = 0.0f, rounded = 0.0f, results[kEach];
#pragma unroll
    for (float& result : results) result = 0.0f;
#pragma unroll 2
    for (i32 block = first_block + warp; block <= last_block; block += G::kCombineWarps) {
      if (share_begin(block, blocks, places) == share_begin(block + 1, blocks, places)) continue;
      const float* const part = arguments.parts + (i64{block} * 2 + (block == first_block ? 1 : 0)) * G::kPart;
      const auto facts = load_vector<4>(part + G::kRows * G::kHeadV + row * G::kFacts);
      float values[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const int column = lane + kWarpSize * i;
        values[i] = column < arguments.columns_v ? part[row * G::kHeadV + column] : 0.0f;
      }
      const float top = fmaxf(level, facts[0]);
      const float own = worth(level, top, 1.0f), others = worth(facts[0], top, 1.0f);
      level = top;
      sum = sum * own + facts[1] * others;
      rounded = rounded * own + facts[2] * others;
#pragma unroll
      for (int i = 0; i < kEach; ++i) results[i] = results[i] * own + values[i] * others;
    }
    __syncthreads();
    if (lane == 0) {
      storage.level[warp] = level;
      storage.sum[warp] = sum;
      storage.rounded[warp] = rounded;
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) storage.results[warp][lane + kWarpSize * i] = results[i];
    __syncthreads();
    float top = storage.level[0];
#pragma unroll
    for (int i = 1; i < G::kCombineWarps; ++i) top = fmaxf(top, storage.level[i]);
    float worths[G::kCombineWarps];
    sum = rounded = 0.0f;
#pragma unroll
    for (int i = 0; i < G::kCombineWarps; ++i) {
      worths[i] = worth(storage.level[i], top, 1.0f);
      sum += worths[i] * storage.sum[i];
      rounded += worths[i] * storage.rounded[i];
    }
    const float inverse = rounded > 0.0f ? ptx::rcp_approx(rounded) : 0.0f;
    const i32 of_pack = first_row + row;
    const i32 token = of_pack / call.group, head = key_head * call.group + of_pack % call.group;
    T* const to = arguments.o.at(batch, token, head);
    for (int column = thread; column < arguments.columns_v; column += G::kCombineWarps * kWarpSize) {
      float value = 0.0f;
#pragma unroll
      for (int i = 0; i < G::kCombineWarps; ++i) value += worths[i] * storage.results[i][column];
      to[column] = from_float<T>(value * inverse);
    }
    if (G::kLse && thread == 0) {
      arguments.lse[(i64{batch} * call.heads + head) * call.queries + token] = log_sum(top, sum, 1.0f);
    }
  }
}

}  // namespace tilewright::attention
