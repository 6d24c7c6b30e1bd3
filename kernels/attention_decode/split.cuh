// SPDX-License-Identifier: Apache-2.0
#pragma once

// Decoding by mma.sync, over any cache; sm_80 and later. d and dv are multiples of 8; rows of q, k and v start at
// multiples of 16 bytes, rows of o at multiples of 8.
//
// shares.cuh gives a block its units of keys. Each warp has `keys` keys of a unit to itself: a ring of its own, filled
// by cp.async, and scores, weights and results of all rows of the pack. Warps meet at the end of a pack.
//
//   a warp    copies   ▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪    stages - 1 steps ahead, on into the next pack
//             q kᵀ, softmax, p v   ▪▪▪▪▪▪▪▪▪▪▪▪
//   a block   q of the pack into shared memory │ … │ results of the warps added up there │ o, or a part of it
//
// A part is fp32: results before their division, and for each row the base, as an exponent of 2, and the sums of
// weights. A block has at most two: of a pack that began before it, and of one that ends after it. The last block to
// write a part of a pack combines all of them, in their order.

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
    kPitch = kHeadV + 8,  // of results in shared memory: rows are in different banks
    kFacts = 4,           // floats a row beside a part: base, sum, rounded sum
    kPart = kRows * (kHeadV + kFacts),
    kDumped = 32 / kWarps,  // rows of all warps in shared memory at once
    kVec = 4,
    kVectors = kHeadV / kVec,  // per row of results
    kTogether = 4,             // parts read at once
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
    alignas(16) float results[kWarps][kDumped * kPitch];
    float base[kWarps][kRows], sum[kWarps][kRows], rounded[kWarps][kRows];
    ScanStorage<kWarps> scan;
    u32 arrived;
  };
};

// For packs that blocks share.
template <class Config>
struct ShareGeometry : SplitGeometry<Config> {
  enum : int { kToll = Config::toll, kSide = Config::side };
};

template <class Config>
struct SplitArguments {
  using T = typename Config::dtype;
  Rows4<const T> q;
  Rows4<T> o;
  float* lse;
  float* parts;
  u32* counters;           // per pack: blocks that have written a part
  i32 columns, columns_v;  // d and dv
};

// 2^((base − of) · factor), which rescales sums relative to `base` to sums relative to `of`; 0 if no key was seen.
__device__ __forceinline__ float worth(float base, float of, float factor) {
  return base == -kInfinity ? 0.0f : ptx::ex2_approx((base - of) * factor);
}

// A warp's rows of a pack, over the warp's keys.
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

  // Stores bases and sums of the warp's rows. Other warps see them after a barrier.
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

  // Adds the warps' sums of the pack's rows, and calls take(row, vector, base, sum, rounded, values) with them, a
  // thread for each vector of four columns. All threads call.
  template <class Take>
  __device__ __forceinline__ void meet(typename G::Storage& storage, i32 rows_of_pack, float factor, const Take& take) {
    put_facts(storage);
#pragma unroll 1
    for (i32 first = 0; first < rows_of_pack; first += G::kDumped) {
      if (first > 0) __syncthreads();
#pragma unroll
      for (int i = 0; i < 2 * G::kTiles; ++i) {
        const i32 row = i * 8 + lane / 4 - first;
        if (row < 0 || row >= G::kDumped) continue;
#pragma unroll
        for (int group = 0; group < G::kHeadV / 8; ++group) {
          const int from = group * 4 + i % 2 * 2;
          store_vector(storage.results[warp] + row * G::kPitch + group * 8 + lane % 4 * 2,
                       Vector<float, 2>{{results[i / 2][from], results[i / 2][from + 1]}});
        }
      }
      __syncthreads();
      const i32 here = rows_of_pack - first < G::kDumped ? rows_of_pack - first : i32{G::kDumped};
      for (i32 i = warp * kWarpSize + lane; i < here * G::kVectors; i += G::kThreads) {
        const i32 dumped = i / G::kVectors, vector = i % G::kVectors, row = first + dumped;
        float base = storage.base[0][row];
#pragma unroll
        for (int other = 1; other < G::kWarps; ++other) base = fmaxf(base, storage.base[other][row]);
        float sum = 0.0f, rounded = 0.0f;
        Vector<float, G::kVec> values{};
#pragma unroll
        for (int other = 0; other < G::kWarps; ++other) {
          const float each = worth(storage.base[other][row], base, factor);
          const auto others = load_vector<G::kVec>(storage.results[other] + dumped * G::kPitch + vector * G::kVec);
          sum += each * storage.sum[other][row];
          rounded += each * storage.rounded[other][row];
#pragma unroll
          for (int e = 0; e < G::kVec; ++e) values[e] += each * others[e];
        }
        take(row, vector, base, sum, rounded, values);
      }
    }
  }

 private:
  // Sets scores to −inf where a row does not see a key; leaves steps that all rows see whole as they are.
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

// The rows of a pack, and their places in o and lse.
template <class Config>
struct PackRows {
  using G = SplitGeometry<Config>;
  using T = typename G::T;
  const SplitArguments<Config>& arguments;
  const DecodeCall& call;
  i32 batch, key_head, first_row, count;

  // Stores a vector of a row, and lse with its first. `base` · `factor` is an exponent of 2.
  __device__ __forceinline__ void store(i32 row, i32 vector, float base, float sum, float rounded,
                                        const Vector<float, G::kVec>& values, float factor) const {
    const i32 of_pack = first_row + row;
    const i32 token = of_pack / call.group, head = key_head * call.group + of_pack % call.group;
    if (vector * G::kVec < arguments.columns_v) {
      const float inverse = rounded > 0.0f ? ptx::rcp_approx(rounded) : 0.0f;
      Vector<T, G::kVec> result;
#pragma unroll
      for (int e = 0; e < G::kVec; ++e) result[e] = from_float<T>(values[e] * inverse);
      store_vector(arguments.o.at(batch, token, head) + vector * G::kVec, result);
    }
    if (G::kLse && vector == 0) {
      arguments.lse[(i64{batch} * call.heads + head) * call.queries + token] = log_sum(base, sum, factor);
    }
  }
};

template <class Config>
__device__ __forceinline__ PackRows<Config> rows_of_pack(const SplitArguments<Config>& arguments,
                                                         const DecodeCall& call, const Place& place) {
  using G = SplitGeometry<Config>;
  const i32 row_blocks = ceil_div(call.rows(), i32{G::kRows});
  const i32 first_row = place.pack % row_blocks * G::kRows, left = call.rows() - first_row;
  return {arguments, call, place.batch, place.pack / row_blocks, first_row, left < G::kRows ? left : i32{G::kRows}};
}

// Stores a vector of a part.
template <class G>
__device__ __forceinline__ void store_part(float* part, i32 row, i32 vector, float base, float sum, float rounded,
                                           const Vector<float, G::kVec>& values, float factor) {
  store_vector(part + row * G::kHeadV + vector * G::kVec, values);
  if (vector > 0) return;
  store_vector(part + G::kRows * G::kHeadV + row * G::kFacts,
               Vector<float, 4>{{base == -kInfinity ? base : base * factor, sum, rounded, 0.0f}});
}

// A thread's part of a pack's queries, on the way to shared memory.
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

// The parts of a pack: `count` blocks have one each, from first_block on.
struct PartsOfPack {
  i32 first_place, count, first_block, blocks, places;

  // With fewer places than blocks some shares are empty; the other blocks have one place each.
  __device__ __forceinline__ i32 block(i32 part) const {
    return places >= blocks ? first_block + part : share_of(first_place + part, blocks, places);
  }
};

__device__ __forceinline__ PartsOfPack parts_of_pack(i32 first_place, i32 units, i32 blocks, i32 places) {
  const i32 first = share_of(first_place, blocks, places), last = share_of(first_place + units - 1, blocks, places);
  return {first_place, places >= blocks ? last - first + 1 : units, first, blocks, places};
}

// Stores o and lse of a pack from its parts. All threads call.
template <class G, class Config>
__device__ __forceinline__ void combine_parts(const PackRows<Config>& rows, const float* all, i32 side,
                                              const PartsOfPack& parts) {
  for (i32 i = static_cast<i32>(threadIdx.x); i < rows.count * G::kVectors; i += G::kThreads) {
    const i32 row = i / G::kVectors, vector = i % G::kVectors;
    float base = -kInfinity, sum = 0.0f, rounded = 0.0f;
    Vector<float, G::kVec> values{};
#pragma unroll 1
    for (i32 first = 0; first < parts.count; first += G::kTogether) {
      Vector<float, 4> facts[G::kTogether], others[G::kTogether];
#pragma unroll
      for (int j = 0; j < G::kTogether; ++j) {
        // Read the last part again for a missing one, with the factor 0.
        const i32 at = first + j < parts.count ? first + j : parts.count - 1;
        const float* const part = all + ((i64{parts.block(at)} * G::kSide + side) * 2 + (at == 0 ? 1 : 0)) * G::kPart;
        facts[j] = load_vector<4>(part + G::kRows * G::kHeadV + row * G::kFacts);
        others[j] = load_vector<4>(part + row * G::kHeadV + vector * G::kVec);
        if (first + j >= parts.count) facts[j][0] = -kInfinity;
      }
      float top = base;
#pragma unroll
      for (int j = 0; j < G::kTogether; ++j) top = fmaxf(top, facts[j][0]);
      const float own = worth(base, top, 1.0f);
      base = top;
      sum *= own;
      rounded *= own;
#pragma unroll
      for (int e = 0; e < G::kVec; ++e) values[e] *= own;
#pragma unroll
      for (int j = 0; j < G::kTogether; ++j) {
        const float each = worth(facts[j][0], top, 1.0f);
        sum += each * facts[j][1];
        rounded += each * facts[j][2];
#pragma unroll
        for (int e = 0; e < G::kVec; ++e) values[e] += each * others[j][e];
      }
    }
    rows.store(row, vector, base, sum, rounded, values, 1.0f);
  }
}

// Call after writing a part. Whether it was the last of its pack: then all parts are visible. All threads call.
__device__ __forceinline__ bool is_last_part(u32* counter, i32 parts, u32& arrived) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) arrived = atomicInc(counter, static_cast<u32>(parts - 1));
  __syncthreads();
  if (arrived + 1 != static_cast<u32>(parts)) return false;
  __threadfence();
  return true;
}

// Stores zeros and -inf for a sequence without keys.
template <class Config>
__device__ __forceinline__ void store_nothing(const SplitArguments<Config>& arguments, const DecodeCall& call,
                                              i32 batch) {
  using G = SplitGeometry<Config>;
  using T = typename G::T;
  constexpr int kVec = 4;
  const i32 vectors = arguments.columns_v / kVec, rows = call.heads * call.queries;
  for (i64 i = threadIdx.x; i < i64{rows} * vectors; i += G::kThreads) {
    const i32 row = static_cast<i32>(i / vectors), column = static_cast<i32>(i % vectors) * kVec;
    Vector<T, kVec> zeros;
#pragma unroll
    for (int e = 0; e < kVec; ++e) zeros[e] = T(0.0f);
    store_vector(arguments.o.at(batch, row % call.queries, row / call.queries) + column, zeros);
    if (G::kLse && column == 0) arguments.lse[i64{batch} * rows + row] = -kInfinity;
  }
}

template <class Config, class Cache>
__device__ __forceinline__ void decode_share(const SplitArguments<Config>& arguments, const DecodeCall& call,
                                             const Cache& cache, const Scale& scale) {
  using G = ShareGeometry<Config>;
  using T = typename G::T;
  auto& storage = *shared_storage<typename G::Storage>();
  const int thread = static_cast<int>(threadIdx.x);
  SplitWarp<Config> warp;
  warp.warp = thread / kWarpSize;
  warp.lane = thread % kWarpSize;
  const i32 packs = packs_of_sequence<G>(call);
  const i32 row_blocks = ceil_div(call.rows(), i32{G::kRows});
  // Each of the kSide lines has its own packs: neighbouring blocks have the same keys of neighbouring packs.
  const i32 side = static_cast<i32>(blockIdx.x) % G::kSide;
  const i32 block = static_cast<i32>(blockIdx.x) / G::kSide, blocks = static_cast<i32>(gridDim.x) / G::kSide;
  i32 places = 0;
  const i32 begin = find_share<G>(call, storage.scan, packs / G::kSide, block, blocks, places);
  const i32 end = share_begin(block + 1, blocks, places);
  i32 left = end - begin;
  if (left == 0) return;
  Place place;
  place.batch = storage.scan.batch;
  place.sequence = sequence_of<G>(call, place.batch);
  place.side = side;
  place.pack = (begin - storage.scan.before) / place.sequence.places * G::kSide + side;
  place.unit = (begin - storage.scan.before) % place.sequence.places;
  if (place.unit >= place.sequence.units) {
    // The place is in the toll of another block's pack.
    --place.unit;
    left -= place.advance<G>(call, packs) - 1;
  }
  if (left <= 0) return;

  // The next step to copy.
  Place ahead = place;
  i32 left_ahead = left;
  const auto key_of = [&](const Place& at) { return at.sequence.first + at.unit * G::kUnit + warp.warp * G::kKeys; };
  const auto look_ahead = [&] {
    const i32 last = ahead.sequence.length - 1, key = key_of(ahead);
    return cache.look(ahead.batch, key < last ? key : last, last);
  };
  auto entry = look_ahead();
  const auto copy_step = [&](int stage) {
    if (left_ahead > 0) {
      const i32 key = key_of(ahead), last = ahead.sequence.length - 1, head = ahead.pack / row_blocks;
      typename G::Stage& to = storage.stages[warp.warp][stage];
      const auto rows = cache.step(entry, ahead.batch, key < last ? key : last, last, head);
      G::TileK::template load<16, kWarpSize>(to.k, last + 1 - key, arguments.columns, warp.lane,
                                             [&](int row) { return rows.key(row); });
      G::TileV::template load<16, kWarpSize>(to.v, last + 1 - key, arguments.columns_v, warp.lane,
                                             [&](int row) { return rows.value(row); });
      left_ahead -= ahead.advance<G>(call, packs);
      if (left_ahead > 0) entry = look_ahead();
    }
    ptx::cp_async_commit();
  };
#pragma unroll 1
  for (int stage = 0; stage + 1 < G::kStages; ++stage) copy_step(stage);

  // Fetch the queries of a pack to registers while the pack before ends.
  QueryTile<Config> queries;
  queries.fetch(arguments, call, place, thread);
  int stage = 0;
  i32 first_unit = place.unit;
  bool is_new = true;
#pragma unroll 1
  for (;;) {
    if (is_new) {
      // No thread still works on the pack before.
      queries.store(storage.q, thread);
      warp.begin();
      __syncthreads();
    }
    Place next = place;
    const bool is_last = place.unit + 1 == place.sequence.units;
    const i32 first_place = end - left - place.unit;  // of the pack
    left -= next.advance<G>(call, packs);
    if (left > 0 && is_last) queries.fetch(arguments, call, next, thread);

    // This step has arrived, and the warp has read the one before: start the next copy.
    ptx::cp_async_wait<G::kStages - 2>();
    __syncwarp();
    copy_step(stage == 0 ? G::kStages - 1 : stage - 1);
    if (const i32 key = key_of(place); key < place.sequence.length) {
      warp.add_keys(call, scale, place, key, storage.q, storage.stages[warp.warp][stage]);
    }
    stage = stage + 1 == G::kStages ? 0 : stage + 1;

    is_new = is_last;
    if (is_last || left <= 0) {
      const PackRows<Config> rows = rows_of_pack<Config>(arguments, call, place);
      if (first_unit == 0 && is_last) {
        warp.meet(storage, rows.count, scale.factor,
                  [&](i32 row, i32 vector, float base, float sum, float rounded, const auto& values) {
                    rows.store(row, vector, base, sum, rounded, values, scale.factor);
                  });
      } else {
        float* const part = arguments.parts + (i64{blockIdx.x} * 2 + (first_unit > 0 ? 0 : 1)) * G::kPart;
        warp.meet(storage, rows.count, scale.factor,
                  [&](i32 row, i32 vector, float base, float sum, float rounded, const auto& values) {
                    store_part<G>(part, row, vector, base, sum, rounded, values, scale.factor);
                  });
        const PartsOfPack all = parts_of_pack(first_place, place.sequence.units, blocks, places);
        if (is_last_part(arguments.counters + (i64{place.batch} * packs + place.pack), all.count, storage.arrived)) {
          combine_parts<ShareGeometry<Config>>(rows, arguments.parts, side, all);
        }
      }
      first_unit = 0;
    }
    if (left <= 0) break;
    place = next;
  }
}

template <class Config, class Cache>
__device__ __forceinline__ void decode_split(const SplitArguments<Config>& arguments, const DecodeCall& call,
                                             const Cache& cache, const Scale& scale) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  ptx::grid_launch_dependents();
  ptx::grid_dependency_wait();
#endif
  decode_share<Config>(arguments, call, cache, scale);
  for (i32 batch = static_cast<i32>(blockIdx.x); batch < call.batches; batch += static_cast<i32>(gridDim.x)) {
    if (sequence_of<ShareGeometry<Config>>(call, batch).units == 0) store_nothing<Config>(arguments, call, batch);
  }
}

}  // namespace tilewright::attention
