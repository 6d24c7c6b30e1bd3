// SPDX-License-Identifier: Apache-2.0
#pragma once

// The columns of one row as whole vectors at vector-aligned addresses, and the edges beside them, one element each:
//
//   row of y    | e e | v v v v | v v v v | v v v v | e |      edge 0, 1: before the first vector; edge 2: behind the last
//   aligned     …     ^         ^         ^         ^
//
// The vectors are placed for the tensor that is written; other tensors hold the same columns at addresses that need not be
// aligned (device/unaligned.cuh). Where every row starts and ends on a vector (kRagged = false) there are no edges.

#include "device/config.cuh"
#include "device/unaligned.cuh"

namespace tilewright::row {

template <int kVec, bool kRagged, class Index>
class Span {
 public:
  enum : int { kMaxEdges = kRagged ? 2 * (kVec - 1) : 0 };

  // Of nothing: no vectors and no edges.
  __device__ __forceinline__ Span() : head_(0), vectors_(0), edges_(0) {}

  template <class T>
  __device__ __forceinline__ Span(const T* written_row, Index width) : head_(0), edges_(0) {
    if constexpr (kRagged) {
      const int ahead = (kVec - phase_of<kVec>(written_row)) % kVec;
      head_ = width < ahead ? static_cast<int>(width) : ahead;
    }
    vectors_ = (width - head_) / kVec;
    if constexpr (kRagged) edges_ = static_cast<int>(width - vectors_ * kVec);
  }

  __device__ __forceinline__ Index vectors() const { return vectors_; }
  __device__ __forceinline__ int edges() const { return edges_; }

  // The first column of vector `i`.
  __device__ __forceinline__ Index column(Index i) const { return head_ + i * kVec; }
  // The column of edge `e`.
  __device__ __forceinline__ Index edge_column(int e) const { return e < head_ ? e : e + vectors_ * kVec; }

 private:
  int head_;
  Index vectors_;
  int edges_;
};

// A row that is read by the vectors of a span: a row of a matrix, or a tensor along the columns such as a weight. All of
// its vectors lie equally far from an aligned address; what follows from that is worked out once.
template <class T, int kVec, bool kRagged, Load How = Load::kDefault, class Index = i64>
class RowReader {
 public:
  // Of nothing.
  __device__ __forceinline__ RowReader() : begin_(nullptr), phase_(0), least_(0), most_(0) {}

  __device__ __forceinline__ RowReader(const T* begin, Index width, const Span<kVec, kRagged, Index>& span)
      : begin_(begin),
        phase_(kRagged ? phase_of<kVec>(begin + span.column(0)) : 0),
        least_(phase_),
        most_(width - 2 * kVec + phase_) {}

  // Whether the vectors of the span are aligned in this row, too: known for rows that are not ragged.
  __device__ __forceinline__ bool aligned() const { return !kRagged || phase_ == 0; }

  // The vector from `column` on. Nothing outside the row is read.
  __device__ __forceinline__ Packed<T, kVec> load_packed(Index column) const {
    if constexpr (kRagged && kVec > 1) {
      if (phase_ != 0) {
        if (column < least_ || column > most_) return pack(load_elements<kVec>(begin_ + column));
        return pack(load_shifted<kVec, How>(begin_ + column - phase_, phase_));
      }
    }
    return tilewright::load_packed<kVec, How>(begin_ + column);
  }
  __device__ __forceinline__ Vector<T, kVec> load(Index column) const { return unpack(load_packed(column)); }

  __device__ __forceinline__ T element(Index column) const { return begin_[column]; }

 private:
  const T* begin_;
  int phase_;
  Index least_;  // of columns whose two aligned vectors lie in the row
  Index most_;
};

}  // namespace tilewright::row
