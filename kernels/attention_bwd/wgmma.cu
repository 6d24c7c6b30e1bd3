// SPDX-License-Identifier: Apache-2.0
//
// attention_bwd on Hopper's tensor cores (wgmma_geometry.cuh), in three kernels: delta = do·o and lse to base 2 of each
// query, and zeros for dq's sums unless a store begins them; the products; dq from its sums.
//
//   map_q [d, hq, sq, b], map_do [dv, hq, sq, b]: boxes of 128 bytes × 1 × block_m × 1
//   map_k [d, hkv, sk, b], map_v [dv, hkv, sk, b]: boxes of 128 bytes × 1 × 128 × 1; all swizzled by 128 bytes
//   lse2, delta  f32 [b, hq, whole blocks of queries]; lse2 is infinite if a query sees no key, or does not exist
//   turns        u32 [b, hq, blocks], if launches must give the same bits of dq; twice if a tile has two sums
//   counter      pieces, or pairs of them, taken beyond the first of each block
//   sums         f32 [b, hq, blocks][block_m × block_d], in register order; twice if a tile has two sums

#include "device/convert.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/ptx/register_count.cuh"
#include "device/ptx/tensor_copy.cuh"
#include "device/reduce.cuh"
#include "device/shared.cuh"
#include "wgmma_keys.cuh"
#include "wgmma_load.cuh"

// 16 lanes per row of queries; blocks of block_m are whole groups of 16 rows.
template <class Config>
__global__ void __launch_bounds__(256)
    attention_bwd_rows(const typename Config::dtype* o, const typename Config::dtype* d_o, const float* lse,
                       float* lse2, float* delta, float* sums, unsigned* turns, unsigned* counter, long long o_batch,
                       long long o_token, long long o_head, long long do_batch, long long do_token, long long do_head,
                       long long hq, long long sq, long long d_v) {
  using namespace tilewright;
  using namespace tilewright::attention;
  using G = BackwardTiles<Config>;
  using T = typename G::T;
  constexpr int kLanes = 16;
  ptx::grid_launch_dependents();
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const i64 row = static_cast<i64>(blockIdx.x) * (256 / kLanes) + threadIdx.x / kLanes;
  const i64 rows_of_head = round_up(sq, i64{G::kQueries});
  const i64 query = row % rows_of_head, head = row / rows_of_head % hq, batch = row / rows_of_head / hq;
  const int column = lane * 8;
  float sum = 0.0f;
  if (query < sq && column < d_v) {
    float of_o[8], of_do[8];
    to_float(*reinterpret_cast<const Packed<T, 8>*>(o + batch * o_batch + query * o_token + head * o_head + column),
             of_o);
    to_float(
        *reinterpret_cast<const Packed<T, 8>*>(d_o + batch * do_batch + query * do_token + head * do_head + column),
        of_do);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += of_o[i] * of_do[i];
  }
  sum = reduce_lanes<kLanes>(sum, Sum());
  if (lane == 0) {
    const float own = query < sq ? lse[(batch * hq + head) * sq + query] : -kInfinity;
    lse2[row] = own == -kInfinity ? kInfinity : own * kLog2E;
    delta[row] = sum;
  }
  if (G::kOrdered && lane == 0 && row % G::kQueries == 0) {
    turns[row / G::kQueries] = 0;
    if (G::kStores) turns[(row + i64{gridDim.x} * (256 / kLanes)) / G::kQueries] = 0;
  }
  if (lane == 0 && row == 0) *counter = 0;
  if (G::kStores) return;
  Bits128* const zeros = reinterpret_cast<Bits128*>(sums + row * G::kHead);
#pragma unroll
  for (int i = lane; i < G::kHead / 4; i += kLanes) zeros[i] = {};
}

template <class Config>
__global__ void __launch_bounds__(tilewright::attention::BackwardTiles<Config>::kThreads, 1)
    attention_bwd_wgmma(const __grid_constant__ tilewright::TensorMap map_q,
                        const __grid_constant__ tilewright::TensorMap map_k,
                        const __grid_constant__ tilewright::TensorMap map_v,
                        const __grid_constant__ tilewright::TensorMap map_do, float* lse2, float* delta, float* sums,
                        unsigned* turns, unsigned* counter, typename Config::dtype* dk, typename Config::dtype* dv,
                        float scale, int left, int right, long long b, long long hq, long long hkv, long long sq,
                        long long sk, long long d, long long d_v, long long together, long long dk_batch,
                        long long dk_token, long long dk_head, long long dv_batch, long long dv_token,
                        long long dv_head) {
  using namespace tilewright;
  using namespace tilewright::attention;
  using G = BackwardTiles<Config>;
  using T = typename G::T;
  auto& storage = *shared_storage<typename G::Storage>();
  const int thread = static_cast<int>(threadIdx.x);
  // The shuffle tells the compiler that all lanes have the same value.
  const int warpgroup = __shfl_sync(kFullMask, thread / G::kWarpgroup, 0);
  const BackwardProblem problem = make_backward_problem<Config>(b, hq, hkv, sq, sk, left, right, together);

  constexpr u32 kConsumerWarps = G::kConsumers * G::kWarpgroup / kWarpSize;
  if (thread == 0) {
    ptx::prefetch_map(map_q);
    ptx::prefetch_map(map_k);
    ptx::prefetch_map(map_v);
    ptx::prefetch_map(map_do);
    for (int stage = 0; stage < G::kKeyStages; ++stage) {
      ptx::mbarrier_init(&storage.full_k[stage], 1);
      ptx::mbarrier_init(&storage.full_v[stage], 1);
      ptx::mbarrier_init(&storage.empty_keys[stage], kConsumerWarps + (G::kTakes && G::kBulk ? G::kAdders : 0));
    }
    for (int stage = 0; stage < G::kStages; ++stage) {
      ptx::mbarrier_init(&storage.full_q[stage], 1);
      ptx::mbarrier_init(&storage.empty_q[stage], kConsumerWarps);
      ptx::mbarrier_init(&storage.full_do[stage], 1);
      ptx::mbarrier_init(&storage.empty_do[stage], kConsumerWarps);
    }
    for (u64& full : storage.full_dq) ptx::mbarrier_init(&full, kConsumerWarps);
    ptx::mbarrier_init(&storage.empty_dq, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (warpgroup == 0) {
    ptx::release_registers<G::kProducerRegisters>();
    if (thread == 0) load_all<Config>(storage, map_q, map_k, map_v, map_do, lse2, delta, counter, problem);
    if (G::kBulk && thread % kWarpSize == 0 && thread > 0 && thread <= G::kAdders * kWarpSize) {
      add_all<Config>(storage, sums, turns, problem, thread / kWarpSize - 1);
    }
  } else {
    ptx::acquire_registers<G::kConsumerRegisters>();
    ptx::grid_dependency_wait();
    const KeyGradient<T> to_dk{dk, dk_batch, dk_token, dk_head, static_cast<i32>(d)};
    const KeyGradient<T> to_dv{dv, dv_batch, dv_token, dv_head, static_cast<i32>(d_v)};
    gradients_of_keys<Config>(storage, problem, sums, to_dk, to_dv, scale, warpgroup - 1, thread % G::kWarpgroup);
  }
}

// A block per tile of dq: from register order to rows, through shared memory.
template <class Config>
__global__ void __launch_bounds__(256)
    attention_bwd_dq(const float* sums, typename Config::dtype* dq, float scale, long long hq, long long sq,
                     long long sk, long long d, long long dq_batch, long long dq_token, long long dq_head) {
  using namespace tilewright;
  using namespace tilewright::attention;
  using G = BackwardTiles<Config>;
  using T = typename G::T;
  struct Rows {
    alignas(16) float at[G::kQueries][G::kHead + 4];  // 4 more put a warp's columns in different banks
  };
  auto& rows = *shared_storage<Rows>();
  ptx::grid_dependency_wait();
  const int thread = static_cast<int>(threadIdx.x) % G::kWarpgroup, warpgroup = threadIdx.x / G::kWarpgroup;
  const int lane = thread % kWarpSize;
  const i64 blocks = ceil_div(sq, i64{G::kQueries}), tile = blockIdx.x;
  const float* const own =
      sums + tile * (G::kQueries * G::kHead) + (warpgroup * (G::kSumsDq / 4) * G::kWarpgroup + thread) * 4;
  // In the products' layout rows are columns of d, columns are queries.
  const int first_column = thread / kWarpSize * 16 + lane / 4 + (G::kParts == 2 ? warpgroup * 64 : 0);
  const int first_query = lane % 4 * 2 + (G::kParts == 2 ? 0 : warpgroup * G::kQueriesDq);
  Adders adders{1, 0};
  if constexpr (G::kStores) {
    adders = adders_of<Config>(static_cast<i32>(sq), static_cast<i32>(sk), static_cast<i32>(tile % blocks));
  }
#pragma unroll
  for (int j = 0; j < G::kSumsDq / 4; ++j) {
    float4 four = float4{0.0f, 0.0f, 0.0f, 0.0f};
    if (adders.first > 0) four = *reinterpret_cast<const float4*>(own + j * G::kWarpgroup * 4);
    if (adders.second > 0) {
      const float4 other =
          *reinterpret_cast<const float4*>(own + i64{gridDim.x} * (G::kQueries * G::kHead) + j * G::kWarpgroup * 4);
      four = float4{four.x + other.x, four.y + other.y, four.z + other.z, four.w + other.w};
    }
    rows.at[first_query + j * 8][first_column] = four.x;
    rows.at[first_query + j * 8 + 1][first_column] = four.y;
    rows.at[first_query + j * 8][first_column + 8] = four.z;
    rows.at[first_query + j * 8 + 1][first_column + 8] = four.w;
  }
  __syncthreads();
  constexpr int kLanesOfRow = G::kHead / 8;
  const i64 head = tile / blocks % hq, batch = tile / blocks / hq;
  const int column = static_cast<int>(threadIdx.x) % kLanesOfRow * 8;
  for (int row = threadIdx.x / kLanesOfRow; row < G::kQueries; row += 256 / kLanesOfRow) {
    const i64 query = tile % blocks * G::kQueries + row;
    if (query >= sq || column >= d) continue;
    const float* const from = &rows.at[row][column];
    Bits128 eight;
    u32 words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = round_pair<T>(from[2 * i] * scale, from[2 * i + 1] * scale);
    eight = {words[0], words[1], words[2], words[3]};
    *reinterpret_cast<Bits128*>(dq + batch * dq_batch + query * dq_token + head * dq_head + column) = eight;
  }
}
