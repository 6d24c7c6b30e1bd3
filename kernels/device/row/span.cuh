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

// The row of a matrix, or a tensor along the columns such as a weight: `width` elements that are read a vector at a time.
// Aligned says that the vectors of the span are aligned in this row, too; without ragged rows it is known to be so.
template <class T, int kVec, bool kRagged, Load How = Load::kDefault>
class RowReader {
 public:
  template <class Index>
  __device__ __forceinline__ RowReader(const T* begin, Index width, Index first_vector_column)
      : begin_(begin), width_(width), aligned_(!kRagged || phase_of<kVec>(begin + first_vector_column) == 0) {}

  __device__ __forceinline__ bool aligned() const { return !kRagged || aligned_; }

  // The vector from `column` on.
  template <class Index>
  __device__ __forceinline__ Vector<T, kVec> load(Index column) const {
    if constexpr (kRagged) {
      if (!aligned_) return load_unaligned<kVec, How>(begin_ + column, begin_, begin_ + width_);
    }
    return load_vector<kVec, How>(begin_ + column);
  }

  template <class Index>
  __device__ __forceinline__ T element(Index column) const {
    return begin_[column];
  }

 private:
  const T* begin_;
  i64 width_;
  bool aligned_;
};

}  // namespace tilewright::row
