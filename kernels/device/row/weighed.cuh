// SPDX-License-Identifier: Apache-2.0
#pragma once

// Row ops whose results need all inputs and one sum over the row, as gradients do. An op is a class with
//
//   T, kInputs, kOutputs   element type; number of matrices read and written
//   tensors                RowTensors<T, kInputs, 0, kOutputs>
//   term(in)               an element's term of the row's sum; 0 if all inputs are 0
//   scale(sum, width)      the values that a row's results share
//   results(in, scale, out)   one element of each output
//
// Two skeletons in fp32, for any width, address and pitch; sm_80 and later:
//
//   resident   a row stays in registers as it was loaded (16-bit elements in 16 bits): read once
//   reread     a block per row, which it reads twice from memory
//
// An output may be an input: a thread writes only elements that it alone reads.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/reduce.cuh"
#include "device/row/by_elements.cuh"
#include "device/row/span.cuh"
#include "device/row/statistics.cuh"
#include "device/row/tensors.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"

namespace tilewright::row {

// The sum of a row's terms: a statistics class (statistics.cuh).
struct TermSum {
  struct alignas(8) Partial {
    float sum;
  };
  template <int kLanes>
  __device__ static __forceinline__ Partial over_lanes(Partial partial) {
    return {reduce_lanes<kLanes>(partial.sum, Sum{})};
  }
};

template <class Op, int kVec>
using InputVectors = Packed<typename Op::T, kVec>[Op::kInputs];

template <class Op, int kVec>
__device__ __forceinline__ void load_inputs(const Op& op, i64 r, i64 column, InputVectors<Op, kVec>& loaded) {
#pragma unroll
  for (int input = 0; input < Op::kInputs; ++input) {
    loaded[input] = load_packed<kVec>(op.tensors.inputs[input].row(r) + column);
  }
}

template <class Op, int kVec>
__device__ __forceinline__ void no_inputs(InputVectors<Op, kVec>& loaded) {
  Vector<typename Op::T, kVec> zeros;
#pragma unroll
  for (int j = 0; j < kVec; ++j) zeros[j] = from_float<typename Op::T>(0.0f);
#pragma unroll
  for (int input = 0; input < Op::kInputs; ++input) loaded[input] = pack(zeros);
}

// Calls `use(j, in)` for each element of a vector of the inputs.
template <class Op, int kVec, class Use>
__device__ __forceinline__ void for_elements(const InputVectors<Op, kVec>& loaded, const Use& use) {
  float in[Op::kInputs][kVec];
#pragma unroll
  for (int input = 0; input < Op::kInputs; ++input) to_float(loaded[input], in[input]);
#pragma unroll
  for (int j = 0; j < kVec; ++j) {
    float element[Op::kInputs];
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) element[input] = in[input][j];
    use(j, element);
  }
}

// Two chains of additions, which do not wait for each other.
template <class Op, int kVec>
__device__ __forceinline__ void add_terms(const Op& op, const InputVectors<Op, kVec>& loaded, float (&sums)[2]) {
  for_elements<Op, kVec>(loaded, [&](int j, const float(&in)[Op::kInputs]) { sums[j % 2] += op.term(in); });
}

template <class Op, int kVec, class Scale>
__device__ __forceinline__ void store_results(const Op& op, const InputVectors<Op, kVec>& loaded, const Scale& scale,
                                              i64 r, i64 column) {
  float results[Op::kOutputs][kVec];
  for_elements<Op, kVec>(loaded, [&](int j, const float(&in)[Op::kInputs]) {
    float out[Op::kOutputs];
    op.results(in, scale, out);
#pragma unroll
    for (int output = 0; output < Op::kOutputs; ++output) results[output][j] = out[output];
  });
#pragma unroll
  for (int output = 0; output < Op::kOutputs; ++output) {
    store_vector(op.tensors.outputs[output].row(r) + column, from_float<typename Op::T>(results[output]));
  }
}

// Processes a row by all threads of a block: the vectors of `span`, and single elements for the rest. `slots` are
// num_warps partials, other than the previous row's.
template <class Config, int kUnroll, class Op, class RowSpan>
__device__ __forceinline__ void reread_row(const Op& op, const RowSpan& span, i64 r, i64 cols,
                                           TermSum::Partial* slots) {
  constexpr int kVec = Config::vec;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  const auto for_vectors = [&](const auto& use) {
    for (i64 first = threadIdx.x; first < span.vectors(); first += kThreads * kUnroll) {
      InputVectors<Op, kVec> loaded[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const i64 i = first + u * kThreads;
        if (i < span.vectors()) load_inputs<Op, kVec>(op, r, span.column(i), loaded[u]);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const i64 i = first + u * kThreads;
        if (i < span.vectors()) use(loaded[u], span.column(i));
      }
    }
  };
  const auto for_edges = [&](const auto& use) {
#pragma unroll 1
    for (i64 e = threadIdx.x; e < cols - span.vectors() * kVec; e += kThreads) {
      InputVectors<Op, 1> loaded;
      load_inputs<Op, 1>(op, r, span.edge_column(e), loaded);
      use(loaded, span.edge_column(e));
    }
  };
  float sums[2] = {};
  for_vectors([&](const auto& loaded, i64) { add_terms<Op, kVec>(op, loaded, sums); });
  for_edges([&](const auto& loaded, i64) { add_terms<Op, 1>(op, loaded, sums); });
  const TermSum::Partial mine = TermSum::over_lanes<kWarpSize>({sums[0] + sums[1]});
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const auto scale = op.scale(merge_warps<TermSum, Config::num_warps>(mine, slots, warp).sum, cols);
  for_vectors([&](const auto& loaded, i64 column) { store_results<Op, kVec>(op, loaded, scale, r, column); });
  for_edges([&](const auto& loaded, i64 column) { store_results<Op, 1>(op, loaded, scale, r, column); });
}

// A row without vectors, for tensors whose rows are aligned differently.
struct NoVectors {
  __device__ __forceinline__ i64 vectors() const { return 0; }
  __device__ __forceinline__ i64 column(i64) const { return 0; }
  __device__ __forceinline__ i64 edge_column(i64 e) const { return e; }
};

// Config: num_warps, vec, ragged, unroll. Shared memory: 2 × num_warps partials.
template <class Config, class Op>
__device__ __forceinline__ void reread(const Op& op, i64 rows, i64 cols) {
  constexpr bool kRagged = Config::ragged != 0;
  const bool slow = kRagged && !in_step<Config::vec>(op);
  int parity = 0;
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x, parity ^= 1) {
    TermSum::Partial* const slots = shared_storage<TermSum::Partial>() + parity * Config::num_warps;
    if (slow) {
      reread_row<Config, 1>(op, NoVectors{}, r, cols, slots);
    } else {
      using RowSpan = Span<Config::vec, kRagged, i64>;
      reread_row<Config, Config::unroll>(op, RowSpan(op.tensors.outputs[0].row(r), cols), r, cols, slots);
    }
  }
}

// Config: num_warps, rows_per_block, vec, chunks, ragged; static_dims with cols. Thread t of a row holds its vectors t,
// t + threads_per_row, … (`chunks` of them), and edge t of a ragged row. Shared memory: 2 × num_warps partials.
template <class Config, class Op>
__device__ __forceinline__ void resident(const Op& op, i64 rows, i64 cols) {
  using T = typename Op::T;
  constexpr int kVec = Config::vec;
  constexpr bool kRagged = Config::ragged != 0;
  constexpr int kThreadsPerRow = Config::num_warps * kWarpSize / Config::rows_per_block;
  constexpr int kLanes = kThreadsPerRow < kWarpSize ? kThreadsPerRow : kWarpSize;
  constexpr int kWarpsPerRow = kThreadsPerRow / kLanes;
  using RowSpan = Span<kVec, kRagged, int>;
  constexpr int kEdges = ceil_div<int>(RowSpan::kMaxEdges, kThreadsPerRow);  // per thread
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");
  static_assert(Config::num_warps * kWarpSize % Config::rows_per_block == 0, "rows_per_block must divide the threads");
  static_assert(kThreadsPerRow >= 4, "a row needs 4 threads or more");
  static_assert(Op::kInputs * Config::chunks * kVec * sizeof(T) <= 256, "more than a thread's registers hold");

  const int width = static_cast<int>(Config::cols ? Config::cols : cols);
  const i64 first_row = i64{blockIdx.x} * Config::rows_per_block;
  if (kRagged && !in_step<kVec>(op)) {
    for (int row = 0; row < Config::rows_per_block && first_row + row < rows; ++row) {
      TermSum::Partial* const slots = shared_storage<TermSum::Partial>() + row % 2 * Config::num_warps;
      reread_row<Config, 1>(op, NoVectors{}, first_row + row, width, slots);
    }
    return;
  }

  // In a partial last block some threads recompute the last row, but do not write it.
  const int thread = static_cast<int>(threadIdx.x % u32{kThreadsPerRow});
  const int row_in_block = static_cast<int>(threadIdx.x / u32{kThreadsPerRow});
  const bool present = first_row + row_in_block < rows;
  const i64 r = present ? first_row + row_in_block : rows - 1;
  const RowSpan span(op.tensors.outputs[0].row(r), width);
  const auto vector_of = [&](int chunk) { return chunk * kThreadsPerRow + thread; };
  const auto edge_of = [&](int e) { return e * kThreadsPerRow + thread; };

  // Issue all loads before the first use.
  InputVectors<Op, kVec> loaded[Config::chunks];
  InputVectors<Op, 1> edges[at_least_one(kEdges)];
#pragma unroll
  for (int chunk = 0; chunk < Config::chunks; ++chunk) {
    no_inputs<Op, kVec>(loaded[chunk]);
    if (vector_of(chunk) < span.vectors()) load_inputs<Op, kVec>(op, r, span.column(vector_of(chunk)), loaded[chunk]);
  }
#pragma unroll
  for (int e = 0; e < kEdges; ++e) {
    no_inputs<Op, 1>(edges[e]);
    if (edge_of(e) < span.edges()) load_inputs<Op, 1>(op, r, span.edge_column(edge_of(e)), edges[e]);
  }

  // Sum the row's terms.
  float sums[2] = {};
#pragma unroll
  for (int chunk = 0; chunk < Config::chunks; ++chunk) add_terms<Op, kVec>(op, loaded[chunk], sums);
#pragma unroll
  for (int e = 0; e < kEdges; ++e) add_terms<Op, 1>(op, edges[e], sums);
  const TermSum::Partial mine = TermSum::over_lanes<kLanes>({sums[0] + sums[1]});
  TermSum::Partial* const slots = shared_storage<TermSum::Partial>() + row_in_block * kWarpsPerRow;
  const float sum = merge_warps<TermSum, kWarpsPerRow>(mine, slots, thread / kWarpSize).sum;
  if (!present) return;
  const auto scale = op.scale(sum, width);

  // Store the results.
#pragma unroll
  for (int chunk = 0; chunk < Config::chunks; ++chunk) {
    const int i = vector_of(chunk);
    if (i < span.vectors()) store_results<Op, kVec>(op, loaded[chunk], scale, r, span.column(i));
  }
#pragma unroll
  for (int e = 0; e < kEdges; ++e) {
    const int edge = edge_of(e);
    if (edge < span.edges()) store_results<Op, 1>(op, edges[e], scale, r, span.edge_column(edge));
  }
}

template <class Config, class Op>
__device__ __forceinline__ void weighed(const Op& op, i64 rows, i64 cols) {
  if constexpr (Config::implementation == "resident") {
    resident<Config>(op, rows, cols);
  } else {
    static_assert(Config::implementation == "reread", "an implementation is named for its skeleton");
    reread<Config>(op, rows, cols);
  }
}

}  // namespace tilewright::row
