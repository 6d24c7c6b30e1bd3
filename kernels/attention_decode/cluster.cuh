// SPDX-License-Identifier: Apache-2.0
#pragma once

// Decoding by clusters, sm_90 and later. A cluster has one pack of rows, and its blocks take the pack's units of keys
// in turns. Each warp works as in split.cuh. At the end a block adds the sums of its warps, and the cluster those of
// its blocks, through each other's shared memory: no second kernel, and no wait for lengths of other sequences.
//
//   units of the pack   ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪
//   block               0 1 2 3 0 1 2 3 0 1 2      then block r has the r'th quarter of the pack's results
//
// If any token up to the capacity may be read, the first copies do not wait for the length either. Scores beyond it are
// masked, values set to zero.

#include "device/ptx/cluster.cuh"
#include "split.cuh"

namespace tilewright::attention {

template <class Config>
struct ClusterGeometry : SplitGeometry<Config> {
  using G = SplitGeometry<Config>;
  enum : int {
    kBlocks = Config::cluster,
    kToll = 0,
  };
  struct alignas(16) Facts {
    float base, sum, rounded, none;
  };
  struct Storage {
    alignas(128) unsigned char q[G::TileQ::kBytes];
    // A warp's ring; at the end its results.
    typename G::Stage stages[G::kWarps][G::kStages];
    alignas(16) float results[G::kRows * G::kHeadV];  // the block's
    Facts facts[G::kRows];
    float base[G::kWarps][G::kRows], sum[G::kWarps][G::kRows], rounded[G::kWarps][G::kRows];
  };
  static_assert(sizeof(typename G::Stage) * G::kStages >= G::kRows * G::kPitch * sizeof(float),
                "a ring has room for its warp's results");
};

// Zeroes the rows of a warp's step from `first` on.
template <class Config>
__device__ __forceinline__ void clear_values(unsigned char* values, i32 first, int lane) {
  using Tile = typename SplitGeometry<Config>::TileV;
  for (int i = first * Tile::kUnits + lane; i < SplitGeometry<Config>::kKeys * Tile::kUnits; i += kWarpSize) {
    *reinterpret_cast<Bits128*>(values + Tile::place(i / Tile::kUnits, i % Tile::kUnits)) = {};
  }
}

// Adds the cluster's sums of four columns of a row.
template <class Config>
struct ClusterSum {
  using G = ClusterGeometry<Config>;
  float base = -kInfinity, sum = 0.0f, rounded = 0.0f;
  Vector<float, G::kVec> values{};

  __device__ __forceinline__ static void load(const void* remote, float (&to)[4]) {
    const u64* const from = static_cast<const u64*>(remote);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const u64 pair = ptx::load_cluster(from + i);
      to[2 * i] = __builtin_bit_cast(float, static_cast<u32>(pair));
      to[2 * i + 1] = __builtin_bit_cast(float, static_cast<u32>(pair >> 32));
    }
  }
  // Adds the sums of kCount blocks from `first` on: all loads are issued before the first use.
  template <int kCount>
  __device__ __forceinline__ void add(typename G::Storage& storage, int first, int row, int vector, float factor) {
    float facts[kCount][4], others[kCount][4];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const u32 rank = static_cast<u32>(first + i);
      load(ptx::map_shared(&storage.facts[row], rank), facts[i]);
      load(ptx::map_shared(storage.results + (row * G::kVectors + vector) * G::kVec, rank), others[i]);
    }
    float top = base;
#pragma unroll
    for (int i = 0; i < kCount; ++i) top = fmaxf(top, facts[i][0]);
    const float own = worth(base, top, factor);
    base = top;
    sum *= own;
    rounded *= own;
#pragma unroll
    for (int e = 0; e < 4; ++e) values[e] *= own;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const float each = worth(facts[i][0], top, factor);
      sum += each * facts[i][1];
      rounded += each * facts[i][2];
#pragma unroll
      for (int e = 0; e < 4; ++e) values[e] += each * others[i][e];
    }
  }
};

// Adds the warps' sums, which are in their rings, into storage.results and facts. All threads call.
template <class Config>
__device__ __forceinline__ void add_up_warps(typename ClusterGeometry<Config>::Storage& storage, i32 rows, float factor,
                                             int thread) {
  using G = ClusterGeometry<Config>;
  for (int i = thread; i < rows * G::kVectors; i += G::kThreads) {
    const int row = i / G::kVectors, vector = i % G::kVectors;
    float base = storage.base[0][row];
#pragma unroll
    for (int warp = 1; warp < G::kWarps; ++warp) base = fmaxf(base, storage.base[warp][row]);
    float sum = 0.0f, rounded = 0.0f;
    Vector<float, 4> values{};
#pragma unroll
    for (int warp = 0; warp < G::kWarps; ++warp) {
      const float each = worth(storage.base[warp][row], base, factor);
      const float* const own = reinterpret_cast<const float*>(&storage.stages[warp][0]);
      const auto others = load_vector<4>(own + row * G::kPitch + vector * G::kVec);
      sum += each * storage.sum[warp][row];
      rounded += each * storage.rounded[warp][row];
#pragma unroll
      for (int e = 0; e < 4; ++e) values[e] += each * others[e];
    }
    store_vector(storage.results + i * G::kVec, values);
    if (vector == 0) storage.facts[row] = {base, sum, rounded, 0.0f};
  }
}

template <class Config, class Cache>
__device__ __forceinline__ void decode_by_clusters(const SplitArguments<Config>& arguments, const DecodeCall& call,
                                                   const Cache& cache, const Scale& scale) {
  using G = ClusterGeometry<Config>;
  constexpr bool kEarly = Cache::kHasAllTokens && !G::kWindow;
  auto& storage = *shared_storage<typename G::Storage>();
  const int thread = static_cast<int>(threadIdx.x);
  SplitWarp<Config> warp;
  warp.warp = thread / kWarpSize;
  warp.lane = thread % kWarpSize;
  ptx::grid_launch_dependents();
  ptx::grid_dependency_wait();

  const i32 packs = packs_of_sequence<G>(call), row_blocks = ceil_div(call.rows(), i32{G::kRows});
  const i32 rank = static_cast<i32>(ptx::cluster_rank());
  const i32 index = static_cast<i32>(blockIdx.x) / G::kBlocks;
  Place place{index / packs, index % packs, 0, 0, {call.capacity, 0, 0, 0}};
  const i32 key_head = place.pack / row_blocks;
  QueryTile<Config> queries;
  queries.fetch(arguments, call, place, thread);

  const auto key_of = [&](i32 unit) { return place.sequence.first + unit * G::kUnit + warp.warp * G::kKeys; };
  typename Cache::Entry entry{};  // of the next step to copy
  const auto copy_step = [&](i32 unit, int stage) {
    const i32 key = key_of(unit), last = place.sequence.length - 1;
    if (key <= last) {
      typename G::Stage& to = storage.stages[warp.warp][stage];
      const auto rows = cache.step(entry, place.batch, key, last, key_head);
      G::TileK::template load<16, kWarpSize>(to.k, last + 1 - key, arguments.columns, warp.lane,
                                             [&](int row) { return rows.key(row); });
      G::TileV::template load<16, kWarpSize>(to.v, last + 1 - key, arguments.columns_v, warp.lane,
                                             [&](int row) { return rows.value(row); });
      entry = cache.look(place.batch, key_of(unit + G::kBlocks), last);
    }
    ptx::cp_async_commit();
  };
  // Copy the first step as if the sequence were as long as it can be.
  if constexpr (kEarly) copy_step(rank, 0);
  place.sequence = sequence_of<G>(call, place.batch);
  if (const i32 last = place.sequence.length - 1; last >= 0) entry = cache.look(place.batch, key_of(rank), last);
#pragma unroll
  for (int stage = kEarly ? 1 : 0; stage + 1 < G::kStages; ++stage) copy_step(rank + stage * G::kBlocks, stage);
  queries.store(storage.q, thread);
  warp.begin();
  __syncthreads();

  int stage = 0;
#pragma unroll 1
  for (i32 unit = rank; unit < place.sequence.units; unit += G::kBlocks) {
    // This step has arrived, and the warp has read the one before: start the next copy.
    ptx::cp_async_wait<G::kStages - 2>();
    __syncwarp();
    copy_step(unit + (G::kStages - 1) * G::kBlocks, stage == 0 ? G::kStages - 1 : stage - 1);
    if (const i32 key = key_of(unit), length = place.sequence.length; key < length) {
      typename G::Stage& step = storage.stages[warp.warp][stage];
      if (kEarly && unit == rank && key + G::kKeys > length) {
        clear_values<Config>(step.v, length - key, warp.lane);
        __syncwarp();
      }
      warp.add_keys(call, scale, place, key, storage.q, step);
    }
    stage = stage + 1 == G::kStages ? 0 : stage + 1;
  }
  ptx::cp_async_wait<0>();
  __syncwarp();

  // Put the warp's sums over its ring.
  warp.put_facts(storage);
  float* const own = reinterpret_cast<float*>(&storage.stages[warp.warp][0]);
#pragma unroll
  for (int i = 0; i < 2 * G::kTiles; ++i) {
#pragma unroll
    for (int group = 0; group < G::kHeadV / 8; ++group) {
      const int from = group * 4 + i % 2 * 2;
      store_vector(own + (i * 8 + warp.lane / 4) * G::kPitch + group * 8 + warp.lane % 4 * 2,
                   Vector<float, 2>{{warp.results[i / 2][from], warp.results[i / 2][from + 1]}});
    }
  }
  __syncthreads();
  const PackRows<Config> own_rows = rows_of_pack<Config>(arguments, call, place);
  add_up_warps<Config>(storage, own_rows.count, scale.factor, thread);
  ptx::cluster_sync();

  // Store this block's share of the results.
  const i32 vectors = own_rows.count * G::kVectors, each = ceil_div(vectors, i32{G::kBlocks});
  const i32 end = (rank + 1) * each < vectors ? (rank + 1) * each : vectors;
  for (i32 i = rank * each + thread; i < end; i += G::kThreads) {
    const int row = i / G::kVectors, vector = i % G::kVectors;
    constexpr int kTogether = G::kBlocks < 8 ? static_cast<int>(G::kBlocks) : 8;
    ClusterSum<Config> all;
#pragma unroll 1
    for (int first = 0; first < G::kBlocks; first += kTogether) {
      all.template add<kTogether>(storage, first, row, vector, scale.factor);
    }
    own_rows.store(row, vector, all.base, all.sum, all.rounded, all.values, scale.factor);
  }
  ptx::cluster_sync();
}

}  // namespace tilewright::attention
