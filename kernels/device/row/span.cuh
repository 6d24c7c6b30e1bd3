// SPDX-License-Identifier: Apache-2.0
#pragma once

// The columns of one row as whole vectors at vector-aligned addresses, and the edges beside them, one element each:
//
//   row of y    | e e | v v v v | v v v v | v v v v | e |    edges 0, 1: before the first vector; 2: behind the last
//   aligned     …     ^         ^         ^         ^
//
// Vectors are placed for the tensor that is written. Other tensors hold the same columns at addresses that need not be
// aligned (device/unaligned.cuh); kMargin elements on either side of a vector, read with it there, lie in the row too.
// If all rows start and end on a vector (kRagged = false), there are no edges.

#include "device/config.cuh"
#include "device/unaligned.cuh"

namespace tilewright::row {

// A row has at least kLeastWidth columns. If these are as many as the most edges, no test asks whether there are
// vectors: it would cost a kernel that holds its row dozens of registers.
template <int kVec, bool kRagged, class Index, int kMargin = 0, int kLeastWidth = 0>
class Span {
 public:
  enum : int { kMaxEdges = kRagged ? 2 * (kVec - 1 + kMargin) : 0 };
  static_assert(kMargin <= kVec, "margins are narrower than a vector");

  // No vectors and no edges.
  __device__ __forceinline__ Span() : head_(0), vectors_(0), edges_(0) {}

  template <class T>
  __device__ __forceinline__ Span(const T* written_row, Index width) : head_(0), edges_(0) {
    if constexpr (kRagged) {
      int ahead = (kVec - phase_of<kVec>(written_row)) % kVec;
      if (ahead < kMargin) ahead += kVec;
      if constexpr (kLeastWidth >= kMaxEdges) {
        head_ = ahead;
        vectors_ = static_cast<Index>(static_cast<u64>(width - ahead - kMargin) / kVec);
      } else {
        head_ = width < ahead + kMargin ? static_cast<int>(width) : ahead;
        vectors_ = width < ahead + kMargin ? 0 : (width - ahead - kMargin) / kVec;
      }
      edges_ = static_cast<int>(width - vectors_ * kVec);
    } else {
      vectors_ = width / kVec;
    }
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

// A row read by the vectors of a span: a row of a matrix, or a tensor along the columns such as a weight. All of its
// vectors lie equally far from an aligned address.
template <class T, int kVec, bool kRagged, Load How = Load::kDefault>
class RowReader {
 public:
  using Vectors = typename Skew<T, kVec, !kRagged>::Vectors;

  // Reads nothing.
  __device__ __forceinline__ RowReader() : aligned_(nullptr) {}
  // Reads the vectors at `begin`, `begin` + kVec, …
  __device__ __forceinline__ explicit RowReader(const T* begin) : skew_(begin), aligned_(skew_.aligned(begin)) {}

  // Starts to load the vector `ahead` elements, a multiple of kVec, behind the first.
  __device__ __forceinline__ Vectors load(i64 ahead) const { return skew_.template load<How>(aligned_ + ahead); }
  // Starts to copy that vector to shared memory.
  __device__ __forceinline__ void copy(Vectors* to, i64 ahead) const { skew_.copy(to, aligned_ + ahead); }
  // That vector, once it has arrived.
  __device__ __forceinline__ Packed<T, kVec> take(const Vectors& from) const { return skew_.take(from); }

 private:
  Skew<T, kVec, !kRagged> skew_;
  const T* aligned_;  // names the first vector
};

}  // namespace tilewright::row
