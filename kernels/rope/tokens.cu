// SPDX-License-Identifier: Apache-2.0
//
// rope (rope.cu has the arguments) with all heads of a token in flight at once: a block has some tokens, and no loop.
// Vectors of 8 bytes give a token twice the threads, of which more fit on an SM.

#include "device/elementwise/hints.cuh"
#include "rope/full_heads.cuh"
#include "rope/rope.cu"

namespace rope {

// Config: num_warps, threads_per_token, lanes (of a head), vec, unroll, hints, blocks; static_dims with d and rot.
template <class Config>
__device__ __forceinline__ void tokens(const Tensors<typename Config::dtype>& tensors) {
  using T = typename Config::dtype;
  constexpr int kVec = Config::vec, kLanes = Config::lanes, kUnroll = Config::unroll;
  constexpr int kTokens = Config::num_warps * kWarpSize / Config::threads_per_token;
  constexpr int kHeads = Config::threads_per_token / kLanes;
  constexpr Load kLoad = Config::hints != 0 ? Load::kStreaming : Load::kDefault;
  constexpr Store kStore = Config::hints != 0 ? Store::kStreaming : Store::kDefault;
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");
  static_assert(Config::threads_per_token % kLanes == 0, "a token has whole heads at once");
  // A head has no more columns than its lanes' vectors.
  const i64 d = Config::d ? Config::d : static_cast<u32>(tensors.d);
  const i64 rot = Config::rot ? Config::rot : static_cast<u32>(tensors.rot);
  const int heads = static_cast<int>(tensors.hq + tensors.hkv);
  const Place<Config, kVec> place(static_cast<int>(threadIdx.x) % kLanes, rot);
  const int first_head = static_cast<int>(threadIdx.x) % Config::threads_per_token / kLanes;
  const i64 t = i64{blockIdx.x} * kTokens + static_cast<int>(threadIdx.x) / Config::threads_per_token;
  // Surplus lanes stay, for the sums over a head, but touch nothing.
  const bool present = t < tensors.tokens && 2 * place.pair < d;
  const auto has = [&](int u) { return present && first_head + u * kHeads < heads; };

  // Issue all loads before the first use; loads of cosines and sines wait for the position.
  const i64 position = present ? tensors.position[t] : -1;
  Packed<T, kVec> loaded[kUnroll][2];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (!has(u)) continue;
    const T* const head = tensors.from(t, first_head + u * kHeads);
    loaded[u][0] = load_packed<kVec, kLoad>(head + place.first);
    loaded[u][1] = load_packed<kVec, kLoad>(head + place.second);
  }
  const bool is_known = position >= 0 && position < tensors.positions;
  float cos[kVec], sin[kVec];
  if (present && place.turns) {
    const i64 at = (is_known ? position : 0) * (rot / 2) + place.pair;
    to_float(load_packed<kVec, Load::kConstant>(tensors.cos + at), cos);
    to_float(load_packed<kVec, Load::kConstant>(tensors.sin + at), sin);
#pragma unroll
    for (int j = 0; j < kVec; ++j) {
      if (!is_known) cos[j] = sin[j] = __builtin_bit_cast(float, 0x7fffffffu);
    }
  }

#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const i64 h = first_head + u * kHeads;
    float a[kVec] = {}, b[kVec] = {};
    if (has(u)) {
      to_float(loaded[u][0], a);
      to_float(loaded[u][1], b);
    }
    if constexpr (Config::norm == "yes") {
      float squares = 0.0f;
#pragma unroll
      for (int j = 0; j < kVec; ++j) squares = fmaf(a[j], a[j], fmaf(b[j], b[j], squares));
      const float scale = scale_of_head<T, kLanes>(squares, d, tensors.eps);
      if (has(u)) {
        weigh<T>(a, scale, tensors.weight(h) + place.first);
        weigh<T>(b, scale, tensors.weight(h) + place.second);
      }
    }
    if (!has(u)) continue;
    if (place.turns) turn<Config>(a, b, cos, sin);
    T* const out = tensors.to(t, h);
    store_vector<kStore>(out + place.first, from_float<T>(a));
    store_vector<kStore>(out + place.second, from_float<T>(b));
  }
}

}  // namespace rope

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::blocks)
    rope_tokens(long long tokens, long long hq, long long hkv, long long d, long long rot, long long positions,
                const typename Config::dtype* q, const typename Config::dtype* k, const float* cos, const float* sin,
                const int* position, const typename Config::dtype* wq, const typename Config::dtype* wk,
                typename Config::dtype* q_out, typename Config::dtype* k_out, float eps, long long q_token,
                long long q_head, long long k_token, long long k_head, long long q_out_token, long long q_out_head,
                long long k_out_token, long long k_out_head) {
  const rope::Tensors<typename Config::dtype> tensors{{q, q_token, q_head},
                                                      {k, k_token, k_head},
                                                      cos,
                                                      sin,
                                                      position,
                                                      wq,
                                                      wk,
                                                      {q_out, q_out_token, q_out_head},
                                                      {k_out, k_out_token, k_out_head},
                                                      eps,
                                                      tokens,
                                                      hq,
                                                      hkv,
                                                      d,
                                                      rot,
                                                      positions};
  rope::with_full_heads<Config, 2 * Config::vec * Config::lanes>(d, rot, [&]<class C>() { rope::tokens<C>(tensors); });
}
