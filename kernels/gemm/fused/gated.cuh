// SPDX-License-Identifier: Apache-2.0
#pragma once

// A gated product, act(a · wgᵀ + bg) · (a · wuᵀ + bu), for mma.cuh and skinny.cuh: tiles alternate rows of both
// weights, so two neighbouring sums are the gate and the up of one column. Config::weights says how the weights lie:
//
//   split         two matrices
//   interleaved   one matrix: row 2j a gate, row 2j + 1 an up
//   packed        one matrix: all gates, then all ups

#include "config.cuh"
#include "device/activation.cuh"
#include "gemm/mma_copy.cuh"
#include "gemm/output.cuh"

namespace tilewright::gemm {

// The sums of a gated product; Output below is their epilogue.
template <class Config>
struct Gating : Linear<Config> {
  using Op = Config;
  static constexpr Name bias{"no"}, residual{"no"};
};

// Both weights, n × k each with rows `pitch` elements apart.
template <class T>
struct GatedWeights {
  const T* gate;
  const T* up;
  i64 pitch;
};

// Reads `gate` and `up` if weights are split, else `both`.
template <class Config, class T>
__device__ __forceinline__ GatedWeights<T> gated_weights(const T* gate, const T* up, const T* both, i64 n, i64 k) {
  if constexpr (Config::weights == "split") {
    return {gate, up, k};
  } else if constexpr (Config::weights == "interleaved") {
    return {both, both + k, 2 * k};
  } else {
    return {both, both + n * k, k};
  }
}

// Every other row of a tile, from kFirst on.
template <class Tile, int kFirst>
struct EveryOtherRow {
  using Element = typename Tile::Element;
  enum : int {
    kTileExtent = Tile::kTileExtent / 2,
    kTileK = Tile::kTileK,
    kRows = Tile::kRows / 2,
    kRowBytes = Tile::kRowBytes,
  };
  __device__ static __forceinline__ int place(int row, int byte) { return Tile::place(2 * row + kFirst, byte); }
};

// A k-major operand with rows `row_pitch` elements apart.
template <class T>
struct PitchedOperand {
  enum : bool { kKMajor = true };
  const T* data;
  i64 extent, k, row_pitch;

  __device__ __forceinline__ i64 pitch() const { return row_pitch; }
  __device__ __forceinline__ const T* at(i64 row, i64 column) const { return data + row * row_pitch + column; }
};

// Copies tiles of both weights.
template <class Tile, int kVec, int kThreads>
class GatedCopy {
  using T = typename Tile::Element;

 public:
  // Begins at column `column` of the sums and block `block` of k.
  __device__ __forceinline__ GatedCopy(const GatedWeights<T>& weights, i64 n, i64 k, i64 column, u32 block, int thread)
      : gate_({weights.gate, n, k, weights.pitch}, column / 2, block, thread),
        up_({weights.up, n, k, weights.pitch}, column / 2, block, thread) {}

  __device__ __forceinline__ void load(unsigned char* tile) {
    gate_.load(tile);
    up_.load(tile);
  }

 private:
  MmaCopy<EveryOtherRow<Tile, 0>, PitchedOperand<T>, kVec, kThreads> gate_;
  MmaCopy<EveryOtherRow<Tile, 1>, PitchedOperand<T>, kVec, kThreads> up_;
};

// The results: y and, if store=yes, its gate and up for the backward pass. Each is rounded once.
template <class Config>
struct GatedResults {
  using T = typename Config::dtype;
  enum : bool { kHasBias = Config::bias == "yes" };
  static constexpr bool keeps() {
    if constexpr (requires { Config::store; }) {
      return Config::store == "yes";
    } else {
      return false;
    }
  }

  const T* bias_gate;
  const T* bias_up;
  T* y;
  T* gate;
  T* up;
  i64 m, n;

  template <int N>
  __device__ __forceinline__ bool allows() const {
    u64 addresses = reinterpret_cast<u64>(y);
    if constexpr (kHasBias) addresses |= reinterpret_cast<u64>(bias_gate) | reinterpret_cast<u64>(bias_up);
    if constexpr (keeps()) addresses |= reinterpret_cast<u64>(gate) | reinterpret_cast<u64>(up);
    return n % N == 0 && addresses % (N * sizeof(T)) == 0;
  }

  // Stores N neighbours of a row.
  template <int N>
  __device__ __forceinline__ void store(float (&gates)[N], float (&ups)[N], i64 row, i64 column) const {
    const i64 place = row * n + column;
    if constexpr (kHasBias) {
      float biases[N];
      to_float(load_packed<N>(bias_gate + column), biases);
#pragma unroll
      for (int i = 0; i < N; ++i) gates[i] += biases[i];
      to_float(load_packed<N>(bias_up + column), biases);
#pragma unroll
      for (int i = 0; i < N; ++i) ups[i] += biases[i];
    }
    if constexpr (keeps()) {
      store_vector(gate + place, from_float<T>(gates));
      store_vector(up + place, from_float<T>(ups));
    }
#pragma unroll
    for (int i = 0; i < N; ++i) gates[i] = activate<Config, T>(gates[i]) * ups[i];
    store_vector(y + place, from_float<T>(gates));
  }
};

// The output of a gated product's sums, two for each column: `n` counts sums.
template <class Config>
struct Output<Gating<Config>> {
  using T = typename Config::dtype;
  GatedResults<Config> results;
  i64 m, n;
  const T* bias = nullptr;  // the results add their own biases
  const T* residual = nullptr;

  __device__ __forceinline__ explicit Output(const GatedResults<Config>& results_)
      : results(results_), m(results_.m), n(2 * results_.n) {}

  template <int N>
  __device__ __forceinline__ bool allows() const {
    return results.template allows<N / 2>();
  }

  template <int N>
  __device__ __forceinline__ void store(const float (&sums)[N], i64 row, i64 column) const {
    static_assert(N % 2 == 0, "a gate and its up are with one thread");
    float gates[N / 2], ups[N / 2];
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      gates[i] = sums[2 * i];
      ups[i] = sums[2 * i + 1];
    }
    results.store(gates, ups, row, column / 2);
  }

  template <int N>
  __device__ __forceinline__ void store_each(const float (&sums)[N], i64 row, i64 column) const {
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      const float pair[2] = {sums[i], sums[i + 1]};
      if (column + i < n) store(pair, row, column + i);
    }
  }
};

}  // namespace tilewright::gemm
