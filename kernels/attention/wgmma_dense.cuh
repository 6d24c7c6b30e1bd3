// SPDX-License-Identifier: Apache-2.0
#pragma once

// The pieces of one problem, and a block's work, which several kernels share (docs/kernels/attention.md).

#include "device/shared.cuh"
#include "wgmma_consume.cuh"
#include "wgmma_load.cuh"

namespace tilewright::attention {

// Pieces of one problem. With kLate a block takes them as late as it can (wgmma_load.cuh).
template <class Config, bool kLate = false>
struct DensePieces {
  enum : bool { kEndsFirst = false };
  using Storage = typename Geometry<Config>::Storage;
  const Problem& of_all;
  const Output<typename Config::dtype>& to;
  Counters counters;

  __device__ __forceinline__ const Problem& problem(u32 /*piece*/) const { return of_all; }
  __device__ __forceinline__ const auto& output(u32 /*piece*/, i32 /*head*/) const { return to; }
  __device__ __forceinline__ void init(Storage& /*storage*/) const {}
  __device__ __forceinline__ void load_queries_and_keys(Storage& storage, const TensorMap& map_q,
                                                        const TensorMap& map_k, int lane) const {
    if (lane == 0) attention::load_queries_and_keys<Config, kLate>(storage, map_q, map_k, of_all, counters);
  }
  __device__ __forceinline__ void load_values(Storage& storage, const TensorMap& map_v, int lane) const {
    if (lane == 0) attention::load_values<Config>(storage, map_v, of_all);
  }
};

// Runs a block. o_batch, o_token and o_head are the strides of o; the maps have those of q, k and v. `counters` are two
// zeros.
template <class Config, class Pieces>
__device__ __forceinline__ void attend(const TensorMap& map_q, const TensorMap& map_k, const TensorMap& map_v,
                                       typename Config::dtype* o, float* lse, float scale, i32 left, i32 right,
                                       float softcap, u32* counters, i64 b, i64 hq, i64 hkv, i64 sq, i64 sk, i64 dv,
                                       i64 sections, i64 o_batch, i64 o_token, i64 o_head) {
  using G = Geometry<Config>;
  const auto problem = make_problem(b, hq, hkv, sq, sk, left, right, sections);
  const Output<typename Config::dtype> out{o, lse, o_batch, o_token, o_head, static_cast<i32>(dv)};
  run<Config>(*shared_storage<typename G::Storage>(), map_q, map_k, map_v, Pieces{problem, out, Counters{counters}},
              make_scale<G::kSoftcap>(scale, softcap));
}

}  // namespace tilewright::attention
