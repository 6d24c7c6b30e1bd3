// SPDX-License-Identifier: Apache-2.0
#pragma once

// The columns of a thread that keeps them for several rows, all of which start equally far from a vector; of ragged
// rows each kVec-th does. The thread's vectors are located once, and the tensors along the columns are read and
// realigned once.
//
//   thread t of a block's row    vectors t, t + n, t + 2 n, … with n threads in all blocks of the row; `chunks` of them
//   edges (span.cuh)             in the row's first block
//
//   chunks   exactly as many as hold a row: all but the last are full, or all but the last two of a ragged row

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/ptx/store_whole.cuh"
#include "device/row/evenly.cuh"
#include "device/row/results.cuh"
#include "device/row/span.cuh"
#include "device/row/statistics.cuh"
#include "device/row/tensors.cuh"

namespace tilewright::row {

// The columns of a thread in blocks with kThreadsPerRow threads per row.
template <class Config, class Op, int kThreadsPerRow>
class OwnColumns {
  using T = typename Op::T;
  using Partial = typename Op::Statistics::Partial;
  enum : bool { kRagged = Config::ragged != 0 };
  enum : int {
    kVec = Config::vec,
    kChunks = Config::chunks,
    kCluster = Config::cluster,
    kStride = kCluster * kThreadsPerRow * kVec,  // from a thread's vector to its next one
    kLeastWidth = Config::cols ? static_cast<int>(Config::cols) : (kChunks - 1) * kStride,
  };
  using RowSpan = SpanOf<Op, kVec, kRagged, int, kLeastWidth>;
  using Reader = RowReader<T, kVec, kRagged>;
  enum : int {
    kEdges = ceil_div<int>(RowSpan::kMaxEdges, kThreadsPerRow),  // per thread
    kHeld = kChunks * kVec,
    // Chunks that each row fills, wherever it starts.
    kSure = Config::cols ? (static_cast<int>(Config::cols) - RowSpan::kMaxEdges) / kVec / (kCluster * kThreadsPerRow)
                         : kChunks - 1 - Config::ragged,
  };
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");

 public:
  enum : int { kValues = kHeld + kEdges, kLanes = kThreadsPerRow < kWarpSize ? kThreadsPerRow : kWarpSize };
  // The elements of one row, as loaded.
  using Vectors = Packed<T, kVec>[Op::kInputs][kChunks];
  using Edges = Packed<T, 1>[Op::kInputs][at_least_one(kEdges)];

  // For `thread` of block `rank` in its cluster. `row` is one of its rows.
  __device__ __forceinline__ OwnColumns(const Op& op, i64 row, int width, int thread, int rank)
      : op_(op), width_(width), thread_(thread), rank_(rank), span_(op.tensors.outputs[0].row(row), width) {
    column_ = span_.column(rank * kThreadsPerRow + thread);
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      has_[chunk] = chunk < kSure || first_of(chunk) + thread < span_.vectors();
    }
#pragma unroll
    for (int e = 0; e < kEdges; ++e) {
      has_edge_[e] = rank == 0 && e * kThreadsPerRow + thread < span_.edges();
      edge_columns_[e] = span_.edge_column(e * kThreadsPerRow + thread);
    }
  }

  __device__ __forceinline__ bool has(int chunk) const { return has_[chunk]; }
  // The vector of `chunk` in row `r` of `input`.
  __device__ __forceinline__ const T* vector(int input, i64 r, int chunk) const {
    return op_.tensors.inputs[input].row(r) + column_ + chunk * kStride;
  }

  // Loads row `r` if `there`, else pads.
  __device__ __forceinline__ void load(i64 r, bool there, Vectors& to) const {
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        to[input][chunk] = pad_of<Op, kVec>(input);
        if (there && has(chunk)) to[input][chunk] = load_packed<kVec>(vector(input, r, chunk));
      }
    }
  }
  __device__ __forceinline__ void load(i64 r, bool there, Edges& to) const {
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) {
#pragma unroll
      for (int e = 0; e < kEdges; ++e) {
        to[input][e] = pad_of<Op, 1>(input);
        if (there && has_edge_[e]) to[input][e] = load_packed<1>(op_.tensors.inputs[input].row(r) + edge_columns_[e]);
      }
    }
  }

  // Loads the tensors along the columns; take_along() realigns them and counts the lanes' elements of a row.
  __device__ __forceinline__ void load_along() {
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) {
      const Reader reader(op_.tensors.columns[c] + column_);
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        if (has(chunk)) along_loaded_[c][chunk] = reader.load(chunk * kStride);
      }
#pragma unroll
      for (int e = 0; e < kEdges; ++e) {
        along_edges_[c][e] = has_edge_[e] ? op_.tensors.columns[c][edge_columns_[e]] : from_float<T>(0.0f);
      }
    }
  }
  __device__ __forceinline__ void take_along() {
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) {
      const Reader reader(op_.tensors.columns[c] + column_);
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) along_[c][chunk] = reader.take(along_loaded_[c][chunk]);
    }
    const int first_lane = thread_ / kLanes * kLanes;
    const auto lanes_below = [&](int end, int first) { return min(max(end - first - first_lane, 0), +kLanes); };
    count_ = 0;
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) count_ += kVec * lanes_below(span_.vectors(), first_of(chunk));
#pragma unroll
    for (int e = 0; e < kEdges; ++e) count_ += rank_ == 0 ? lanes_below(span_.edges(), e * kThreadsPerRow) : 0;
  }

  // Computes the values of a row.
  __device__ __forceinline__ void values(const Vectors& vectors, float (&to)[kValues]) const {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) values_of(op_, vectors, chunk, to, chunk * kVec);
  }
  __device__ __forceinline__ void values(const Edges& edges, float (&to)[kValues]) const {
#pragma unroll
    for (int e = 0; e < kEdges; ++e) values_of(op_, edges, e, to, kHeld + e);
  }

  // The partial of the lanes that share a row; may change the values.
  __device__ __forceinline__ Partial partial(float (&values)[kValues]) const {
    const auto valid = valid_if<kVec, kHeld>([&](int k) { return k < kHeld ? has(k / kVec) : has_edge_[k - kHeld]; });
    return EvenlyOf<typename Op::Statistics>::template of_registers<kLanes>(values, valid, count_);
  }

  // Writes the results of row `r`, from its values, the lanes' partial and the row's.
  __device__ __forceinline__ void write(i64 r, const float (&values)[kValues], const Partial& own,
                                        const Partial& whole) const {
    const auto scale = op_.template scale<true>(own, whole, width_);
#pragma unroll
    for (int e = 0; e < kEdges; ++e) {
      if (!has_edge_[e]) continue;
      const float value[1] = {values[kHeld + e]};
      float along[at_least_one(Op::kColumns)][1], out[Op::kOutputs][1];
#pragma unroll
      for (int c = 0; c < Op::kColumns; ++c) along[c][0] = to_float(along_edges_[c][e]);
      op_.template results<true>(value, scale, along, out);
#pragma unroll
      for (int o = 0; o < Op::kOutputs; ++o) op_.tensors.outputs[o].row(r)[edge_columns_[e]] = from_float<T>(out[o][0]);
    }
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      if (!has(chunk)) continue;
      float vector[kVec], along[at_least_one(Op::kColumns)][kVec], out[Op::kOutputs][kVec];
#pragma unroll
      for (int j = 0; j < kVec; ++j) vector[j] = values[chunk * kVec + j];
#pragma unroll
      for (int c = 0; c < Op::kColumns; ++c) to_float(along_[c][chunk], along[c]);
      op_.template results<true>(vector, scale, along, out);
#pragma unroll
      for (int o = 0; o < Op::kOutputs; ++o) {
        T* const to = op_.tensors.outputs[o].row(r) + column_ + chunk * kStride;
        ptx::store_whole(reinterpret_cast<Word<kVec * sizeof(T)>*>(to), pack(from_float<T>(out[o])).words[0]);
      }
    }
  }

 private:
  // The block's first vector of a chunk.
  __device__ __forceinline__ int first_of(int chunk) const { return (chunk * kCluster + rank_) * kThreadsPerRow; }

  const Op& op_;
  int width_, thread_, rank_;
  RowSpan span_;
  int column_, count_;
  bool has_[kChunks], has_edge_[at_least_one(kEdges)];
  int edge_columns_[at_least_one(kEdges)];
  typename Reader::Vectors along_loaded_[at_least_one(Op::kColumns)][kChunks];
  Packed<T, kVec> along_[at_least_one(Op::kColumns)][kChunks];
  T along_edges_[at_least_one(Op::kColumns)][at_least_one(kEdges)];
};

}  // namespace tilewright::row
