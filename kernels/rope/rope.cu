// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embedding of the heads of q and k. The pairs of a head's first `rot` elements are rotated by the
// angle whose cosine and sine are in row position[t] of cos and sin; the other elements stay:
//
//   style=halved        pair i is (x[i], x[i + rot / 2])    (a, b) → (a · cos[i] − b · sin[i], b · cos[i] + a · sin[i])
//   style=interleaved   pair i is (x[2 i], x[2 i + 1])
//   norm=yes            first, x ← x / sqrt(mean of x² + eps) · w over the whole head, w being wq or wk
//
//   q, k, q_out, k_out   tokens × heads × d, each with a token and a head stride; q_out may be q, k_out k
//   cos, sin             positions × rot / 2, fp32; a token whose position is none of these gets NaN in its pairs
//
// Two ways, in fp32, rounded once; sm_80 and later, no shared memory:
//
//   vectors   a thread has two vectors of a head, with the same pairs, and goes on with further heads of its token: it
//             loads its cosines and sines once. `unroll` heads are in flight at once
//   pairs     a warp per head, by single elements; any address

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/math.cuh"
#include "device/reduce.cuh"
#include "device/vector.cuh"

namespace rope {

using namespace tilewright;

template <class T>
struct Heads {
  T* base;
  i64 token, head;

  __device__ __forceinline__ T* at(i64 t, i64 h) const { return base + t * token + h * head; }
};

template <class T>
struct Tensors {
  Heads<const T> q, k;
  const float *cos, *sin;
  const int* position;
  const T *wq, *wk;
  Heads<T> q_out, k_out;
  float eps;
  i64 tokens, hq, hkv, d, rot, positions;

  __device__ __forceinline__ const T* from(i64 t, i64 h) const { return h < hq ? q.at(t, h) : k.at(t, h - hq); }
  __device__ __forceinline__ T* to(i64 t, i64 h) const { return h < hq ? q_out.at(t, h) : k_out.at(t, h - hq); }
  __device__ __forceinline__ const T* weight(i64 h) const { return h < hq ? wq : wk; }
};

// Two vectors of a head: if its elements are rotary and halved, the two sides of the same pairs; else side by side.
template <class Config, int kVec>
struct Place {
  i64 first, second, pair;  // columns of the vectors, and of the first pair's cosine
  bool turns;

  __device__ __forceinline__ Place(i64 item, i64 rot) {
    pair = item * kVec;
    turns = 2 * pair < rot;
    if constexpr (Config::style == "halved") {
      first = turns ? pair : 2 * pair;
      second = turns ? pair + rot / 2 : 2 * pair + kVec;
    } else {
      first = 2 * pair;
      second = 2 * pair + kVec;
    }
  }
};

template <class Config, int kVec>
__device__ __forceinline__ void turn(float (&a)[kVec], float (&b)[kVec], const float (&cos)[kVec],
                                     const float (&sin)[kVec]) {
  if constexpr (Config::style == "halved") {
#pragma unroll
    for (int j = 0; j < kVec; ++j) {
      const float turned = fmaf(a[j], cos[j], -b[j] * sin[j]);
      b[j] = fmaf(b[j], cos[j], a[j] * sin[j]);
      a[j] = turned;
    }
  } else {
    float both[2 * kVec];
#pragma unroll
    for (int j = 0; j < kVec; ++j) {
      both[j] = a[j];
      both[j + kVec] = b[j];
    }
#pragma unroll
    for (int j = 0; j < kVec; ++j) {
      const float turned = fmaf(both[2 * j], cos[j], -both[2 * j + 1] * sin[j]);
      both[2 * j + 1] = fmaf(both[2 * j + 1], cos[j], both[2 * j] * sin[j]);
      both[2 * j] = turned;
    }
#pragma unroll
    for (int j = 0; j < kVec; ++j) {
      a[j] = both[j];
      b[j] = both[j + kVec];
    }
  }
}

// The factor of the head's elements, from the squares of kLanes neighbouring lanes' elements.
template <class T, int kLanes>
__device__ __forceinline__ float scale_of_head(float squares, i64 d, float eps) {
  return rsqrt_for<T>(divide_for<T>(reduce_lanes<kLanes>(squares, Sum{}), static_cast<float>(d)) + eps);
}

template <class T, int kVec>
__device__ __forceinline__ void weigh(float (&values)[kVec], float scale, const T* weight) {
  float weights[kVec];
  to_float(load_packed<kVec, Load::kConstant>(weight), weights);
#pragma unroll
  for (int j = 0; j < kVec; ++j) values[j] *= scale * weights[j];
}

// Config: num_warps, threads_per_token, lanes (of a head), vec, unroll; static_dims with d and rot.
template <class Config>
__device__ __forceinline__ void vectors(const Tensors<typename Config::dtype>& tensors) {
  using T = typename Config::dtype;
  constexpr int kVec = Config::vec, kLanes = Config::lanes, kUnroll = Config::unroll;
  constexpr int kTokens = Config::num_warps * kWarpSize / Config::threads_per_token;
  constexpr int kHeads = Config::threads_per_token / kLanes;
  constexpr bool kNorm = Config::norm == "yes";
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");
  static_assert(Config::threads_per_token % kLanes == 0, "a token has whole heads at once");
  const i64 d = Config::d ? Config::d : tensors.d, rot = Config::rot ? Config::rot : tensors.rot;
  const i64 heads = tensors.hq + tensors.hkv;
  const int item = static_cast<int>(threadIdx.x) % kLanes;
  const int first_head = static_cast<int>(threadIdx.x) % Config::threads_per_token / kLanes;
  const int token_in_block = static_cast<int>(threadIdx.x) / Config::threads_per_token;
  const Place<Config, kVec> place(item, rot);
  const bool has = 2 * place.pair < d;

  for (i64 first = i64{blockIdx.x} * kTokens; first < tensors.tokens; first += i64{gridDim.x} * kTokens) {
    // In a partial last block surplus lanes stay, for the sums over a head, but touch nothing.
    const i64 t = first + token_in_block;
    const bool present = t < tensors.tokens && has;
    const i64 position = present ? tensors.position[t] : -1;
    const bool is_known = position >= 0 && position < tensors.positions;
    float cos[kVec], sin[kVec];
    bool is_turned = false;  // cos and sin wait for the position: load the first heads before them
    // All lanes of a warp take the same number of turns.
    for (i64 turn_head = 0; turn_head < heads; turn_head += kHeads * kUnroll) {
      Packed<T, kVec> loaded[kUnroll][2];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const i64 h = turn_head + u * kHeads + first_head;
        if (!present || h >= heads) continue;
        const T* const head = tensors.from(t, h);
        loaded[u][0] = load_packed<kVec>(head + place.first);
        loaded[u][1] = load_packed<kVec>(head + place.second);
      }
      if (!is_turned && present && place.turns) {
        const i64 at = (is_known ? position : 0) * (rot / 2) + place.pair;
        to_float(load_packed<kVec, Load::kConstant>(tensors.cos + at), cos);
        to_float(load_packed<kVec, Load::kConstant>(tensors.sin + at), sin);
#pragma unroll
        for (int j = 0; j < kVec; ++j) {
          if (!is_known) cos[j] = sin[j] = __builtin_bit_cast(float, 0x7fffffffu);
        }
      }
      is_turned = true;
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const i64 h = turn_head + u * kHeads + first_head;
        const bool works = present && h < heads;
        float a[kVec] = {}, b[kVec] = {};
        if (works) {
          to_float(loaded[u][0], a);
          to_float(loaded[u][1], b);
        }
        if constexpr (kNorm) {
          float squares = 0.0f;
#pragma unroll
          for (int j = 0; j < kVec; ++j) squares = fmaf(a[j], a[j], fmaf(b[j], b[j], squares));
          const float scale = scale_of_head<T, kLanes>(squares, d, tensors.eps);
          if (works) {
            weigh<T>(a, scale, tensors.weight(h) + place.first);
            weigh<T>(b, scale, tensors.weight(h) + place.second);
          }
        }
        if (!works) continue;
        if (place.turns) turn<Config>(a, b, cos, sin);
        T* const out = tensors.to(t, h);
        store_vector(out + place.first, from_float<T>(a));
        store_vector(out + place.second, from_float<T>(b));
      }
    }
  }
}

template <class Config>
__device__ __forceinline__ void pairs(const Tensors<typename Config::dtype>& tensors) {
  using T = typename Config::dtype;
  constexpr bool kNorm = Config::norm == "yes";
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 heads = tensors.hq + tensors.hkv;
  const i64 warps = i64{gridDim.x} * Config::num_warps;
  const i64 first = i64{blockIdx.x} * Config::num_warps + threadIdx.x / kWarpSize;
  for (i64 i = first; i < tensors.tokens * heads; i += warps) {
    const i64 t = i / heads, h = i % heads;
    const T* const head = tensors.from(t, h);
    T* const out = tensors.to(t, h);
    float scale = 1.0f;
    if constexpr (kNorm) {
      float squares = 0.0f;
      for (i64 c = lane; c < tensors.d; c += kWarpSize) squares = fmaf(to_float(head[c]), to_float(head[c]), squares);
      scale = scale_of_head<T, kWarpSize>(squares, tensors.d, tensors.eps);
    }
    const i64 position = tensors.position[t];
    const bool is_known = position >= 0 && position < tensors.positions;
    for (i64 item = lane; 2 * item < tensors.d; item += kWarpSize) {
      const Place<Config, 1> place(item, tensors.rot);
      float a[1] = {to_float(head[place.first])}, b[1] = {to_float(head[place.second])};
      if constexpr (kNorm) {
        weigh<T>(a, scale, tensors.weight(h) + place.first);
        weigh<T>(b, scale, tensors.weight(h) + place.second);
      }
      if (place.turns) {
        const i64 at = (is_known ? position : 0) * (tensors.rot / 2) + place.pair;
        const float cos[1] = {is_known ? tensors.cos[at] : __builtin_bit_cast(float, 0x7fffffffu)};
        const float sin[1] = {is_known ? tensors.sin[at] : __builtin_bit_cast(float, 0x7fffffffu)};
        turn<Config>(a, b, cos, sin);
      }
      out[place.first] = from_float<T>(a[0]);
      out[place.second] = from_float<T>(b[0]);
    }
  }
}

}  // namespace rope

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    rope_heads(long long tokens, long long hq, long long hkv, long long d, long long rot, long long positions,
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
  if constexpr (Config::implementation == "vectors") {
    rope::vectors<Config>(tensors);
  } else {
    rope::pairs<Config>(tensors);
  }
}

// The reference, in fp64: a warp per head.
template <class Config>
__global__ void rope_reference(const typename Config::dtype* q, const typename Config::dtype* k, const float* cos,
                               const float* sin, const int* position, const typename Config::dtype* wq,
                               const typename Config::dtype* wk, double* q_out, double* k_out, float eps,
                               long long q_token, long long q_head, long long k_token, long long k_head,
                               long long q_out_token, long long q_out_head, long long k_out_token, long long k_out_head,
                               long long tokens, long long hq, long long hkv, long long d, long long rot,
                               long long positions) {
  using namespace tilewright;
  constexpr bool kHalved = Config::style == "halved";
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = i64{gridDim.x} * (blockDim.x / kWarpSize);
  const i64 warp = i64{blockIdx.x} * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  for (i64 i = warp; i < tokens * (hq + hkv); i += warps) {
    const i64 t = i / (hq + hkv), h = i % (hq + hkv);
    const auto* const head = h < hq ? q + t * q_token + h * q_head : k + t * k_token + (h - hq) * k_head;
    const auto* const weight = h < hq ? wq : wk;
    double* const out =
        h < hq ? q_out + t * q_out_token + h * q_out_head : k_out + t * k_out_token + (h - hq) * k_out_head;
    double scale = 1.0;
    if constexpr (Config::norm == "yes") {
      double squares = 0.0;
      for (i64 c = lane; c < d; c += kWarpSize) squares += double{to_float(head[c])} * double{to_float(head[c])};
      scale = 1.0 / sqrt(reduce_lanes<kWarpSize>(squares, Sum{}) / static_cast<double>(d) + double{eps});
    }
    const auto value = [&](i64 c) {
      return double{to_float(head[c])} * (Config::norm == "yes" ? scale * double{to_float(weight[c])} : 1.0);
    };
    for (i64 c = lane; c < d; c += kWarpSize) {
      if (c >= rot) {
        out[c] = value(c);
        continue;
      }
      const i64 pair = kHalved ? c % (rot / 2) : c / 2;
      const bool is_second = kHalved ? c >= rot / 2 : c % 2 == 1;
      const i64 other = kHalved ? (is_second ? c - rot / 2 : c + rot / 2) : (is_second ? c - 1 : c + 1);
      const i64 at = i64{position[t]} * (rot / 2) + pair;
      const double turned = value(other) * double{sin[at]};
      out[c] = value(c) * double{cos[at]} + (is_second ? turned : -turned);
    }
  }
}
