// SPDX-License-Identifier: Apache-2.0
#pragma once

// The gradients of attention by mma.sync, sm_80 and later; d and dv are multiples of 8. There are two kernels. Neither
// adds to a tile that another block writes, so all launches give the same bits:
//
//   of keys      a block has 64 keys of a key head, a warp 16 of them. It goes through the queries that see them, of
//                all heads of the group: xᵀ = k qᵀ, dpᵀ = v doᵀ, then dv += pᵀ do and dk += dxᵀ q. If registers have
//                no room for both sums, a kernel of its own computes dv, which needs x alone
//   of queries   a block has 64 queries of a head and goes through the keys that they see: x = q kᵀ, dp = do vᵀ,
//                dq += dx k
//
// Own rows stay in shared memory, the others come by cp.async into two stages. Sums stay in registers; the result of a
// product has the layout of the next one's A.

#include "attention/mma_tile.cuh"
#include "attention/rounding.cuh"
#include "attention/softmax.cuh"
#include "call.cuh"
#include "device/shared.cuh"

namespace tilewright::attention {

template <class Config>
struct BackwardGeometry {
  using T = typename Config::dtype;
  enum : bool { kSoftcap = Config::softcap == "yes", kMasked = Config::causal == "yes" || Config::window == "yes" };
  enum : int {
    kOwn = 64,
    kOther = Config::block_n,
    kHead = Config::block_d,
    kHeadV = Config::block_dv,
    kThreads = kOwn / 16 * kWarpSize,
    kScores = kOther / 2,
    kStages = 2,
  };
  static_assert(sizeof(T) == 2, "elements have 16 bits");
  static_assert(kOther % 16 == 0 && kHead % 16 == 0 && kHeadV % 16 == 0, "products have whole steps");
  static_assert(kHead <= 256 && kHeadV <= 256, "dk or dv stays in registers");
  enum : bool { kApart = kHead + kHeadV > 256 };  // dk and dv by a kernel each

  template <int kColumns>
  using Own = MmaTile<T, kOwn, kColumns>;
  template <int kColumns>
  using Other = MmaTile<T, kOther, kColumns>;
  // The kernel of keys owns k and v, the others are q and do; for the kernel of queries it is the other way round.
  struct Storage {
    alignas(128) unsigned char own[Own<kHead>::kBytes];
    alignas(128) unsigned char own_v[Own<kHeadV>::kBytes];
    alignas(128) unsigned char other[kStages][Other<kHead>::kBytes];
    alignas(128) unsigned char other_v[kStages][Other<kHeadV>::kBytes];
    alignas(16) float lse[kStages][kOther], delta[kStages][kOther];
  };
};

// scores (16 × kOther) = the warp's own rows times the others.
template <class G, int kColumns>
__device__ __forceinline__ void multiply_rows(float (&scores)[G::kScores], const unsigned char* own,
                                              const unsigned char* other, int row, int lane) {
#pragma unroll
  for (float& each : scores) each = 0.0f;
#pragma unroll
  for (int step = 0; step < kColumns / 16; ++step) {
    u32 a[4];
    G::template Own<kColumns>::load_a(a, own, row, step, lane);
#pragma unroll
    for (int group = 0; group < G::kOther / 16; ++group) {
      u32 b[4];
      G::template Other<kColumns>::load_b(b, other, group * 16, step, lane);
      multiply_16<typename G::T>(scores + group * 8, a, b);
    }
  }
}

// sums (16 × kColumns) += weights (16 × kOther) times the others.
template <class G, int kColumns>
__device__ __forceinline__ void add_rows(float (&sums)[kColumns / 2], const float (&weights)[G::kScores],
                                         const unsigned char* other, int lane) {
  using T = typename G::T;
#pragma unroll
  for (int step = 0; step < G::kOther / 16; ++step) {
    u32 a[4];
    round_step<T>(a, weights, step);
#pragma unroll
    for (int group = 0; group < kColumns / 16; ++group) {
      u32 b[4];
      G::template Other<kColumns>::load_b_transposed(b, other, step * 16, group, lane);
      multiply_16<T>(sums + group * 8, a, b);
    }
  }
}

// Turns an element's x, as the product left it, into p, and dp into dx without the factor `scale`. `lse` is the query's
// times log₂ e; a query that saw no key has p = 0.
template <class G>
__device__ __forceinline__ void weigh_pair(float& x, float& dp, const Scale& scale, float lse, float delta,
                                           bool is_seen) {
  const float p = is_seen && lse != -kInfinity ? ptx::ex2_approx(fmaf(x, scale.factor, -lse)) : 0.0f;
  dp = p * (dp - delta);
  if constexpr (G::kSoftcap) dp *= fmaf(-x, x, 1.0f);
  x = p;
}

template <class T, int kColumns>
__device__ __forceinline__ void store_rows(const float (&sums)[kColumns / 2], T* const (&rows)[2], i64 columns,
                                           float factor, int lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if (rows[half] == nullptr) continue;
#pragma unroll
    for (int group = 0; group < kColumns / 8; ++group) {
      const int column = group * 8 + lane % 4 * 2;
      if (column < columns) {
        *reinterpret_cast<u32*>(rows[half] + column) =
            round_pair<T>(sums[group * 4 + half * 2] * factor, sums[group * 4 + half * 2 + 1] * factor);
      }
    }
  }
}

// dk of 64 keys, or dv, or both; `delta` is needed for dk only.
template <class Config, bool kOfK, bool kOfV, class Call>
__device__ __forceinline__ void gradients_of_keys(const Call& call, const float* delta) {
  using G = BackwardGeometry<Config>;
  using T = typename G::T;
  auto& storage = *shared_storage<typename G::Storage>();
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarpSize, row = thread / kWarpSize * 16;
  const i64 blocks = ceil_div(call.keys, i64{G::kOwn});
  const i64 first_key = static_cast<i64>(blockIdx.x) % blocks * G::kOwn;
  const i64 key_head = static_cast<i64>(blockIdx.x) / blocks % call.key_heads;
  const i64 batch = static_cast<i64>(blockIdx.x) / blocks / call.key_heads;
  const auto limited = [](i64 rows) { return static_cast<int>(rows < 1024 ? rows : 1024); };

  // Find the queries that see any of the keys.
  const i64 own = first_key - call.diagonal(0);
  const i64 first_query = own - call.last > 0 ? (own - call.last) / G::kOther * G::kOther : 0;
  const i64 last_query = own + G::kOwn - 1 - call.first < call.queries ? own + G::kOwn - call.first : call.queries;
  const i64 steps_of_head = last_query > first_query ? ceil_div(last_query - first_query, i64{G::kOther}) : 0;
  const i64 steps = steps_of_head * call.group();
  const auto load = [&](i64 step) {
    const i64 head = key_head * call.group() + step / steps_of_head;
    const i64 query = first_query + step % steps_of_head * G::kOther;
    const int stage = static_cast<int>(step % 2), rows = limited(call.queries - query);
    G::template Other<G::kHead>::template load<16, G::kThreads>(
        storage.other[stage], rows, static_cast<int>(call.columns), thread,
        [&](int i) { return call.q.at(batch, query + i, head); });
    G::template Other<G::kHeadV>::template load<16, G::kThreads>(
        storage.other_v[stage], rows, static_cast<int>(call.columns_v), thread,
        [&](int i) { return call.d_o.at(batch, query + i, head); });
    for (int i = thread; i < G::kOther; i += G::kThreads) {
      const i64 at = (batch * call.heads + head) * call.queries + query + (i < rows ? i : 0);
      ptx::cp_async_zero_fill<4>(&storage.lse[stage][i], call.lse + at, i < rows ? 4 : 0);
      if constexpr (kOfK) ptx::cp_async_zero_fill<4>(&storage.delta[stage][i], delta + at, i < rows ? 4 : 0);
    }
  };
  const int own_rows = limited(call.keys - first_key);
  G::template Own<G::kHead>::template load<16, G::kThreads>(
      storage.own, own_rows, static_cast<int>(call.columns), thread,
      [&](int i) { return call.k.at(batch, first_key + i, key_head); });
  if constexpr (kOfK) {
    G::template Own<G::kHeadV>::template load<16, G::kThreads>(
        storage.own_v, own_rows, static_cast<int>(call.columns_v), thread,
        [&](int i) { return call.v.at(batch, first_key + i, key_head); });
  }
  if (steps > 0) load(0);
  ptx::cp_async_commit();

  const Scale scale = make_scale<G::kSoftcap>(call.scale, call.softcap);
  float dk[kOfK ? G::kHead / 2 : 1], dv[kOfV ? G::kHeadV / 2 : 1];
#pragma unroll
  for (float& each : dk) each = 0.0f;
#pragma unroll
  for (float& each : dv) each = 0.0f;
#pragma unroll 1
  for (i64 step = 0; step < steps; ++step) {
    // This step has arrived, and all threads have read the one before: start the next copy.
    ptx::cp_async_wait<0>();
    __syncthreads();
    if (step + 1 < steps) load(step + 1);
    ptx::cp_async_commit();

    const int stage = static_cast<int>(step % 2);
    float x[G::kScores], dp[G::kScores] = {};
    multiply_rows<G, G::kHead>(x, storage.own, storage.other[stage], row, lane);
    if constexpr (kOfK) multiply_rows<G, G::kHeadV>(dp, storage.own_v, storage.other_v[stage], row, lane);
    change_scores<G::kSoftcap>(x, scale);
    const i64 from_diagonal =
        first_key + row + lane / 4 - call.diagonal(first_query + step % steps_of_head * G::kOther);
#pragma unroll
    for (int i = 0; i < G::kScores; ++i) {
      const int query = i / 4 * 8 + lane % 4 * 2 + i % 2;
      const i64 distance = from_diagonal + i / 2 % 2 * 8 - query;
      weigh_pair<G>(x[i], dp[i], scale, storage.lse[stage][query] * kLog2E, kOfK ? storage.delta[stage][query] : 0.0f,
                    !G::kMasked || (distance >= call.first && distance <= call.last));
    }
    if constexpr (kOfV) add_rows<G, G::kHeadV>(dv, x, storage.other_v[stage], lane);
    if constexpr (kOfK) add_rows<G, G::kHead>(dk, dp, storage.other[stage], lane);
  }
  ptx::cp_async_wait<0>();

  T *rows[2], *rows_v[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i64 key = first_key + row + lane / 4 + half * 8;
    rows[half] = key < call.keys ? call.dk.at(batch, key, key_head) : nullptr;
    rows_v[half] = key < call.keys ? call.dv.at(batch, key, key_head) : nullptr;
  }
  if constexpr (kOfK) store_rows<T, G::kHead>(dk, rows, call.columns, call.scale, lane);
  if constexpr (kOfV) store_rows<T, G::kHeadV>(dv, rows_v, call.columns_v, 1.0f, lane);
}

template <class Config, class Call>
__device__ __forceinline__ void gradients_of_queries(const Call& call, const float* delta) {
  using G = BackwardGeometry<Config>;
  using T = typename G::T;
  auto& storage = *shared_storage<typename G::Storage>();
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarpSize, row = thread / kWarpSize * 16;
  const i64 blocks = ceil_div(call.queries, i64{G::kOwn});
  const i64 first_query = static_cast<i64>(blockIdx.x) % blocks * G::kOwn;
  const i64 head = static_cast<i64>(blockIdx.x) / blocks % call.heads;
  const i64 batch = static_cast<i64>(blockIdx.x) / blocks / call.heads, key_head = head / call.group();
  const auto limited = [](i64 rows) { return static_cast<int>(rows < 1024 ? rows : 1024); };

  // Find the keys that any of the queries sees.
  const i64 diagonal = call.diagonal(first_query);
  const i64 first_key = diagonal + call.first > 0 ? (diagonal + call.first) / G::kOther * G::kOther : 0;
  const i64 last_key = diagonal + G::kOwn - 1 + call.last < call.keys ? diagonal + G::kOwn + call.last : call.keys;
  const i64 steps = last_key > first_key ? ceil_div(last_key - first_key, i64{G::kOther}) : 0;
  const auto load = [&](i64 step) {
    const i64 key = first_key + step * G::kOther;
    const int stage = static_cast<int>(step % 2), rows = limited(call.keys - key);
    G::template Other<G::kHead>::template load<16, G::kThreads>(
        storage.other[stage], rows, static_cast<int>(call.columns), thread,
        [&](int i) { return call.k.at(batch, key + i, key_head); });
    G::template Other<G::kHeadV>::template load<16, G::kThreads>(
        storage.other_v[stage], rows, static_cast<int>(call.columns_v), thread,
        [&](int i) { return call.v.at(batch, key + i, key_head); });
  };
  const int own_rows = limited(call.queries - first_query);
  G::template Own<G::kHead>::template load<16, G::kThreads>(
      storage.own, own_rows, static_cast<int>(call.columns), thread,
      [&](int i) { return call.q.at(batch, first_query + i, head); });
  G::template Own<G::kHeadV>::template load<16, G::kThreads>(
      storage.own_v, own_rows, static_cast<int>(call.columns_v), thread,
      [&](int i) { return call.d_o.at(batch, first_query + i, head); });
  if (steps > 0) load(0);
  ptx::cp_async_commit();

  const Scale scale = make_scale<G::kSoftcap>(call.scale, call.softcap);
  float own_lse[2], own_delta[2], dq[G::kHead / 2];
  T* rows[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i64 query = first_query + row + lane / 4 + half * 8;
    const bool exists = query < call.queries;
    const i64 at = (batch * call.heads + head) * call.queries + query;
    own_lse[half] = exists ? call.lse[at] * kLog2E : -kInfinity;
    own_delta[half] = exists ? delta[at] : 0.0f;
    rows[half] = exists ? call.dq.at(batch, query, head) : nullptr;
  }
#pragma unroll
  for (float& each : dq) each = 0.0f;
#pragma unroll 1
  for (i64 step = 0; step < steps; ++step) {
    ptx::cp_async_wait<0>();
    __syncthreads();
    if (step + 1 < steps) load(step + 1);
    ptx::cp_async_commit();

    const int stage = static_cast<int>(step % 2);
    float x[G::kScores], dp[G::kScores];
    multiply_rows<G, G::kHead>(x, storage.own, storage.other[stage], row, lane);
    multiply_rows<G, G::kHeadV>(dp, storage.own_v, storage.other_v[stage], row, lane);
    change_scores<G::kSoftcap>(x, scale);
    const i64 key = first_key + step * G::kOther;
    const i64 from_diagonal = key - call.diagonal(first_query + row + lane / 4);
    // Absent keys have scores of 0, whose weights may overflow.
    const int present = limited(call.keys - key);
#pragma unroll
    for (int i = 0; i < G::kScores; ++i) {
      const int half = i / 2 % 2, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      const i64 distance = from_diagonal + column - half * 8;
      weigh_pair<G>(x[i], dp[i], scale, own_lse[half], own_delta[half],
                    column < present && (!G::kMasked || (distance >= call.first && distance <= call.last)));
    }
    add_rows<G, G::kHead>(dq, dp, storage.other[stage], lane);
  }
  ptx::cp_async_wait<0>();
  store_rows<T, G::kHead>(dq, rows, call.columns, call.scale, lane);
}

}  // namespace tilewright::attention
