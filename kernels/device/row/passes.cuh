// SPDX-License-Identifier: Apache-2.0
#pragma once

// Two passes over a row by the threads of a block: one for its statistics, one for its results. In both, thread t takes
// the vectors begin + t, begin + t + threads, … Source::load(k, i) gives vector `i` of input `k`.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/row/results.cuh"
#include "device/row/span.cuh"
#include "device/row/statistics.cuh"
#include "device/row/tensors.cuh"

namespace tilewright::row {

// The range of a pass: the vectors [begin, end) of the row's span.
template <class Index>
struct Range {
  Index begin;
  Index end;
};

// The thread's partial of the range, `unroll` vectors at a time.
template <class Config, class Op, class Index, class Source>
__device__ __forceinline__ typename Op::Statistics::Partial first_pass(const Op& op, const Range<Index>& range,
                                                                       const Source& source) {
  constexpr int kVec = Config::vec;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  auto partial = Op::Statistics::nothing();
  for (Index first = range.begin + threadIdx.x; first < range.end; first += kThreads * Config::unroll) {
    const auto valid =
        valid_if<kVec, kVec * Config::unroll>([&](int k) { return first + k / kVec * kThreads < range.end; });
    Packed<typename Op::T, kVec> loaded[Op::kInputs][Config::unroll];
#pragma unroll
    for (int u = 0; u < Config::unroll; ++u) {
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) {
        loaded[input][u] = pad_of<Op, kVec>(input);
        if (valid(u * kVec)) loaded[input][u] = source.load(input, first + u * kThreads);
      }
    }
    float values[Config::unroll * kVec];
#pragma unroll
    for (int u = 0; u < Config::unroll; ++u) values_of(op, loaded, u, values, u * kVec);
    Op::Statistics::add(partial, values, valid);
  }
  return partial;
}

// Stores the results of the range; `results` starts at the row's first vector. In place works: a thread reads its
// vectors before it writes them, and no other thread reads them.
template <class Config, class Op, class Index, class Source, class Row, class Scale>
__device__ __forceinline__ void second_pass(const Op& op, const Range<Index>& range, const Source& source,
                                            const Row& results, const Scale& scale) {
  constexpr int kVec = Config::vec;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  for (Index first = range.begin + threadIdx.x; first < range.end; first += kThreads * Config::unroll) {
    Packed<typename Op::T, kVec> loaded[Op::kInputs][Config::unroll];
#pragma unroll
    for (int u = 0; u < Config::unroll; ++u) {
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) {
        if (first + u * kThreads < range.end) loaded[input][u] = source.load(input, first + u * kThreads);
      }
    }
    typename Row::Along along[Config::unroll];
#pragma unroll
    for (int u = 0; u < Config::unroll; ++u) {
      if (first + u * kThreads < range.end) results.load_along(along[u], i64{first} * kVec + u * kThreads * kVec);
    }
#pragma unroll
    for (int u = 0; u < Config::unroll; ++u) {
      if (first + u * kThreads >= range.end) break;
      float values[kVec];
      values_of(op, loaded, u, values);
      results.template store_vector<false>(op, scale, values, along[u], i64{first} * kVec + u * kThreads * kVec);
    }
  }
}

// The edges of a row, loaded once and kept for both passes: thread t has the edges t, t + threads, …
template <class Config, class Op, class RowSpan>
class Edges {
 public:
  enum : int {
    kThreads = Config::num_warps * kWarpSize,
    kCount = ceil_div<int>(RowSpan::kMaxEdges, kThreads),
  };

  // Loads the edges of row `r`, or none unless `present`.
  __device__ __forceinline__ Edges(const Op& op, i64 r, const RowSpan& span, bool present)
      : count_(present ? span.edges() : 0) {
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      Packed<typename Op::T, 1> loaded[Op::kInputs][1];
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) {
        loaded[input][0] = pad_of<Op, 1>(input);
        if (valid(e)) loaded[input][0] = load_packed<1>(op.tensors.inputs[input].row(r) + span.edge_column(edge(e)));
      }
      values_of(op, loaded, 0, values_, e);
    }
  }

  template <class Partial>
  __device__ __forceinline__ void first_pass(Partial& partial) const {
    if constexpr (kCount > 0) {
      float values[kCount];
#pragma unroll
      for (int e = 0; e < kCount; ++e) values[e] = values_[e];
      Op::Statistics::add(partial, values, valid_if<1, kCount>([&](int e) { return valid(e); }));
    }
  }

  template <class Row, class Scale>
  __device__ __forceinline__ void second_pass(const Op& op, i64 r, const Scale& scale, const RowSpan& span) const {
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      if (!valid(e)) continue;
      typename Row::AlongElement along;
      Row::load_along_element(op, along, span.edge_column(edge(e)));
      Row::template store_element<false>(op, scale, values_[e], along, r, span.edge_column(edge(e)));
    }
  }

 private:
  __device__ static __forceinline__ int edge(int e) { return e * kThreads + static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ bool valid(int e) const { return edge(e) < count_; }

  int count_;
  float values_[at_least_one(kCount)];
};

}  // namespace tilewright::row
