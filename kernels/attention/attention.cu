// SPDX-License-Identifier: Apache-2.0
//
// attention: s = scale · q·k, then softcap · tanh(s / softcap), then the mask; o = softmax(s) v, lse = log Σ exp(s).
// Query i sees key j where causal: j <= i + sk - sq; window: -left <= j - (i + sk - sq) <= right, -1 unlimited. Query
// head h reads key and value head h / (hq / hkv). A row that sees no key has o = 0 and lse = -inf.
//
//   q [b, sq, hq, d]  k [b, sk, hkv, d]  v [b, sk, hkv, dv]  o [b, sq, hq, dv], each at strides of its own
//   lse f32 [b, hq, sq]
//
// Here is the base: a warp a row of queries, key after key, d and dv up to 256 in registers. reference.cu has the
// reference.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/reduce.cuh"

namespace tilewright::attention {

// The keys that a query sees: from first to behind last.
struct Keys {
  long long first, last;
};

template <class Config>
__device__ Keys keys_of(long long query, long long sq, long long sk, int left, int right) {
  const long long diagonal = query + sk - sq;
  Keys keys{0, sk};
  if (Config::causal == "yes" && keys.last > diagonal + 1) keys.last = diagonal + 1;
  if (Config::window == "yes") {
    if (left >= 0 && keys.first < diagonal - left) keys.first = diagonal - left;
    if (right >= 0 && keys.last > diagonal + right + 1) keys.last = diagonal + right + 1;
  }
  return keys;
}

}  // namespace tilewright::attention

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    attention_simple(const typename Config::dtype* q, const typename Config::dtype* k, const typename Config::dtype* v,
                     typename Config::dtype* o, float* lse, float scale, int left, int right, float softcap,
                     long long q_batch, long long q_token, long long q_head, long long k_batch, long long k_token,
                     long long k_head, long long v_batch, long long v_token, long long v_head, long long o_batch,
                     long long o_token, long long o_head, long long b, long long hq, long long hkv, long long sq,
                     long long sk, long long d, long long dv) {
  using namespace tilewright;
  using T = typename Config::dtype;
  constexpr int kMost = 256 / 32;  // elements of a row that a lane has
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const long long warps = static_cast<long long>(gridDim.x) * Config::num_warps;
  long long row = static_cast<long long>(blockIdx.x) * Config::num_warps + threadIdx.x / 32;
  for (; row < b * hq * sq; row += warps) {
    const long long query = row % sq, head = row / sq % hq, batch = row / sq / hq;
    const long long kv_head = head / (hq / hkv);
    const attention::Keys keys = attention::keys_of<Config>(query, sq, sk, left, right);

    float queries[kMost], sums[kMost];
    const T* const from = q + batch * q_batch + query * q_token + head * q_head;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      queries[i] = lane + 32 * i < d ? to_float(from[lane + 32 * i]) : 0.0f;
      sums[i] = 0.0f;
    }

    // The largest score so far, and the sum of the weights over its.
    float largest = -kInfinity, sum = 0.0f;
    const T* key = k + batch * k_batch + kv_head * k_head + keys.first * k_token;
    const T* value = v + batch * v_batch + kv_head * v_head + keys.first * v_token;
    for (long long j = keys.first; j < keys.last; ++j, key += k_token, value += v_token) {
      float score = 0.0f;
#pragma unroll
      for (int i = 0; i < kMost; ++i) {
        if (lane + 32 * i < d) score += queries[i] * to_float(key[lane + 32 * i]);
      }
      score = scale * reduce_lanes<kWarpSize>(score, Sum());
      if (Config::softcap == "yes") score = softcap * tanhf(score / softcap);
      const float before = largest;
      largest = fmaxf(largest, score);
      const float rescale = before == largest ? 1.0f : expf(before - largest);
      const float weight = expf(score - largest);
      sum = sum * rescale + weight;
#pragma unroll
      for (int i = 0; i < kMost; ++i) {
        if (lane + 32 * i < dv) sums[i] = sums[i] * rescale + weight * to_float(value[lane + 32 * i]);
      }
    }

    T* const to = o + batch * o_batch + query * o_token + head * o_head;
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (lane + 32 * i < dv) to[lane + 32 * i] = from_float<T>(sums[i] * inverse);
    }
    if (Config::lse == "yes" && lane == 0) lse[row] = sum > 0.0f ? largest + logf(sum) : -kInfinity;
  }
}

// In no use: without it the base's hash would be another, and what was measured of it gone. It goes with the base's next
// change.
template <class Config>
__global__ void attention_reference(const typename Config::dtype* q, const typename Config::dtype* k,
                                    const typename Config::dtype* v, double* o, double* lse, float scale, int left,
                                    int right, float softcap, long long q_batch, long long q_token, long long q_head,
                                    long long k_batch, long long k_token, long long k_head, long long v_batch,
                                    long long v_token, long long v_head, long long o_batch, long long o_token,
                                    long long o_head, long long b, long long hq, long long hkv, long long sq,
                                    long long sk, long long d, long long dv) {
  using namespace tilewright;
  using T = typename Config::dtype;
  constexpr long long kMostProducts = 1LL << 28;  // of a query with a key, up to which all rows are computed
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; row < b * hq * sq;
       row += threads) {
    const long long query = row % sq, head = row / sq % hq, batch = row / sq / hq;
    const long long kv_head = head / (hq / hkv);
    const bool is_edge = query < 4 || query >= sq - 4 || (query + 1) % 64 <= 1;
    if (b * hq * sq > kMostProducts / sk && !is_edge && (row * 2654435761u >> 12) % 16 != 0) continue;
    const attention::Keys keys = attention::keys_of<Config>(query, sq, sk, left, right);
    const T* const from = q + batch * q_batch + query * q_token + head * q_head;
    const T* const key = k + batch * k_batch + kv_head * k_head;
    const T* const value = v + batch * v_batch + kv_head * v_head;
    double* const to = o + batch * o_batch + query * o_token + head * o_head;
    const auto score_of = [&](long long j) {
      double score = 0.0;
      for (long long i = 0; i < d; ++i) score += double{to_float(from[i])} * double{to_float(key[j * k_token + i])};
      score *= double{scale};
      return Config::softcap == "yes" ? double{softcap} * tanh(score / double{softcap}) : score;
    };

    double largest = -double{kInfinity}, sum = 0.0;
    for (long long j = keys.first; j < keys.last; ++j) largest = fmax(largest, score_of(j));
    for (long long i = 0; i < dv; ++i) to[i] = 0.0;
    for (long long j = keys.first; j < keys.last; ++j) {
      const double weight = exp(score_of(j) - largest);
      sum += weight;
      for (long long i = 0; i < dv; ++i) to[i] += weight * double{to_float(value[j * v_token + i])};
    }
    for (long long i = 0; i < dv && sum > 0.0; ++i) to[i] /= sum;
    if (Config::lse == "yes") lse[row] = sum > 0.0 ? largest + log(sum) : -double{kInfinity};
  }
}
