// SPDX-License-Identifier: Apache-2.0
#pragma once

// The columns of a thread that keeps them for several ragged rows, with the tensors along the columns in shared memory:
// registers remain for more rows, or for more warps. Replaces the general OwnColumns if this is included and the config
// has `aside`.
//
//   shared   | exchange of warps and blocks (held.cuh) | tensor 0: chunk 0, chunk 1 … | tensor 1: chunk 0 … |
//   chunk    v0 v1 v2 …   vi is thread i's vector, which thread i alone realigns and reads
//   cluster  copies are asynchronous: vi has room for three halves, the first two of which then hold the vector
//   edges    one per thread of the row's first block (span.cuh)

#include "device/ptx/cp_async.cuh"
#include "device/row/exchange.cuh"
#include "device/row/own_columns.cuh"
#include "device/shared.cuh"

namespace tilewright::row {

template <class Config, class Op, int kThreadsPerRow>
requires(Config::aside == 1) class OwnColumns<Config, Op, kThreadsPerRow> {
  using T = typename Op::T;
  using Partial = typename Op::Statistics::Partial;
  enum : int {
    kVec = Config::vec,
    kChunks = Config::chunks,
    kCluster = Config::cluster,
    kThreads = Config::num_warps * kWarpSize,
    kStride = kCluster * kThreadsPerRow * kVec,  // from a thread's vector to its next one
    kLeastWidth = Config::cols ? static_cast<int>(Config::cols) : (kChunks - 1) * kStride,
    kHeld = kChunks * kVec,
    kCopies = kCluster > 1,  // takes half as much shared memory again, which blocks alone on a row lack
  };
  using RowSpan = SpanOf<Op, kVec, true, int, kLeastWidth>;
  using Reader = RowReader<T, kVec, true>;
  using Vector = Packed<T, kVec>;
  using Arrived = typename Reader::Vectors;
  struct Halves {
    Packed<T, kVec / 2> halves[2];
  };
  enum : int {
    // Chunks that each row fills, wherever it starts.
    kSure = Config::cols ? (static_cast<int>(Config::cols) - RowSpan::kMaxEdges) / kStride : kChunks - 2,
  };
  static_assert(Config::ragged == 1, "weights of whole vectors need not be put together");
  static_assert(kThreadsPerRow % kWarpSize == 0 && RowSpan::kMaxEdges <= kThreadsPerRow, "a thread has one edge");

 public:
  enum : int { kValues = kHeld + 1 };
  // The elements of one row, as loaded.
  using Vectors = Packed<T, kVec>[Op::kInputs][kChunks];
  using Edges = Packed<T, 1>[Op::kInputs][1];

  // For `thread` of block `rank` in its cluster. `row` is one of its rows.
  __device__ __forceinline__ OwnColumns(const Op& op, i64 row, int width, int thread, int rank)
      : op_(op), width_(width), thread_(thread), rank_(rank), span_(op.tensors.outputs[0].row(row), width) {
    column_ = span_.column(rank * kThreadsPerRow + thread);
    edge_column_ = span_.edge_column(thread);
    has_edge_ = rank == 0 && thread < span_.edges();
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      has_[chunk] = chunk < kSure || first_of(chunk) + thread < span_.vectors();
    }
  }

  // Loads row `r` if `there`, else pads.
  __device__ __forceinline__ void load(i64 r, bool there, Vectors& to) const {
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        to[input][chunk] = pad_of<Op, kVec>(input);
        if (there && has_[chunk]) {
          to[input][chunk] = load_packed<kVec>(op_.tensors.inputs[input].row(r) + column_ + chunk * kStride);
        }
      }
    }
  }
  __device__ __forceinline__ void load(i64 r, bool there, Edges& to) const {
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) {
      to[input][0] = pad_of<Op, 1>(input);
      if (there && has_edge_) to[input][0] = load_packed<1>(op_.tensors.inputs[input].row(r) + edge_column_);
    }
  }

  // Loads the tensors along the columns; take_along() realigns them and counts the lanes' elements of a row.
  __device__ __forceinline__ void load_along() {
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) {
      const Reader reader(op_.tensors.columns[c] + column_);
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        if (!has_[chunk]) continue;
        if constexpr (kCopies) {
          reader.copy(aside<Arrived>(c, chunk), chunk * kStride);
        } else {
          along_loaded_[c][chunk] = reader.load(chunk * kStride);
        }
      }
      along_edge_[c] = has_edge_ ? op_.tensors.columns[c][edge_column_] : from_float<T>(0.0f);
    }
    if constexpr (kCopies) ptx::cp_async_commit();
  }
  __device__ __forceinline__ void take_along() {
    if constexpr (kCopies) ptx::cp_async_wait<0>();
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) {
      const Reader reader(op_.tensors.columns[c] + column_);
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        if constexpr (kCopies) {
          if (!has_[chunk]) continue;
          Arrived& arrived = *aside<Arrived>(c, chunk);
          const auto halves = __builtin_bit_cast(Halves, reader.take(arrived));
          arrived.halves[0] = halves.halves[0];
          arrived.halves[1] = halves.halves[1];
        } else {
          *aside<Vector>(c, chunk) = reader.take(along_loaded_[c][chunk]);
        }
      }
    }
    const int first_lane = thread_ / kWarpSize * kWarpSize;
    const auto lanes_below = [&](int end) { return min(max(end - first_lane, 0), kWarpSize); };
    count_ = rank_ == 0 ? lanes_below(span_.edges()) : 0;
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) count_ += kVec * lanes_below(span_.vectors() - first_of(chunk));
  }

  // Computes the values of a row.
  __device__ __forceinline__ void values(const Vectors& vectors, float (&to)[kValues]) const {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) values_of(op_, vectors, chunk, to, chunk * kVec);
  }
  __device__ __forceinline__ void values(const Edges& edges, float (&to)[kValues]) const {
    values_of(op_, edges, 0, to, kHeld);
  }

  // The partial of a warp's lanes; may change the values.
  __device__ __forceinline__ Partial partial(float (&values)[kValues]) const {
    const auto valid = valid_if<kVec, kHeld>([&](int k) { return k < kHeld ? has_[k / kVec] : has_edge_; });
    return EvenlyOf<typename Op::Statistics>::template of_registers<kWarpSize>(values, valid, count_);
  }

  // Writes the results of row `r`, from its values, the lanes' partial and the row's.
  __device__ __forceinline__ void write(i64 r, const float (&values)[kValues], const Partial& own,
                                        const Partial& whole) const {
    const auto scale = op_.template scale<true>(own, whole, width_);
    if (has_edge_) {
      const float value[1] = {values[kHeld]};
      float along[Op::kColumns][1], out[Op::kOutputs][1];
#pragma unroll
      for (int c = 0; c < Op::kColumns; ++c) along[c][0] = to_float(along_edge_[c]);
      op_.template results<true>(value, scale, along, out);
#pragma unroll
      for (int o = 0; o < Op::kOutputs; ++o) op_.tensors.outputs[o].row(r)[edge_column_] = from_float<T>(out[o][0]);
    }
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      if (!has_[chunk]) continue;
      float vector[kVec], along[Op::kColumns][kVec], out[Op::kOutputs][kVec];
#pragma unroll
      for (int j = 0; j < kVec; ++j) vector[j] = values[chunk * kVec + j];
#pragma unroll
      for (int c = 0; c < Op::kColumns; ++c) to_float(along_taken(c, chunk), along[c]);
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

  __device__ static __forceinline__ Vector along_taken(int c, int chunk) {
    if constexpr (kCopies) {
      const Arrived& arrived = *aside<Arrived>(c, chunk);
      return __builtin_bit_cast(Vector, Halves{{arrived.halves[0], arrived.halves[1]}});
    } else {
      return *aside<Vector>(c, chunk);
    }
  }

  template <class Place>
  __device__ static __forceinline__ Place* aside(int c, int chunk) {
    using Talk = Exchange<typename Op::Statistics, Config::num_warps, kCluster, 4>;
    constexpr int kSlots = (Config::batches < 2 ? 1 : 2) * Config::turns * Config::num_warps;
    constexpr int kTalk = static_cast<int>(kCluster > 1 ? sizeof(typename Talk::Storage) : kSlots * sizeof(Partial));
    return reinterpret_cast<Place*>(shared_storage<u8>() + round_up<int>(kTalk, 16)) +
           (c * kChunks + chunk) * kThreads + static_cast<int>(threadIdx.x);
  }

  const Op& op_;
  int width_, thread_, rank_;
  RowSpan span_;
  int column_, edge_column_, count_;
  bool has_[kChunks], has_edge_;
  Arrived along_loaded_[Op::kColumns][kChunks];  // on the way to shared memory
  T along_edge_[Op::kColumns];
};

}  // namespace tilewright::row
