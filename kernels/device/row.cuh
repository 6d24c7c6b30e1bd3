// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/config.cuh"
#include "device/vector.cuh"

// One row of a row-major matrix, seen as vectors of kVec elements at vector-aligned addresses.
//
//   kRagged = false:  |vvvv|vvvv|vvvv|         cols % kVec == 0 and the row starts on a vector
//   kRagged = true:     |.vvv|vvvv|vv..|       any width, any address: the first and the last vector
//                        ^ skew elements       reach outside the row and are read by elements
//
// Vector i holds the elements [i * kVec - skew, (i + 1) * kVec - skew) of the row. Nothing outside the row is touched.

namespace tilewright {

template <class T, int kVec, bool kRagged>
class RowVectors {
 public:
  using Vec = Vector<T, kVec>;

  __device__ __forceinline__ RowVectors(const T* row, i64 cols) : cols_(cols), skew_(kRagged ? skew_of(row) : 0) {}

  // Vectors that hold at least one element.
  __device__ __forceinline__ i64 count() const { return ceil_div<i64>(skew_ + cols_, kVec); }

  // Vector `i` of `row`, which has the phase of the row given to the constructor; elements outside are `fill`.
  __device__ __forceinline__ Vec load(const T* row, i64 i, T fill) const {
    const i64 first = i * kVec - skew_;
    if constexpr (kRagged) {
      if (!whole(first)) return load_elements(row, first, fill);
    }
    return load_vector<kVec>(row + first);
  }

  // Writes vector `i` to another row of the same width, which may have another phase.
  __device__ __forceinline__ void store(T* row, i64 i, const Vec& vector) const {
    const i64 first = i * kVec - skew_;
    if constexpr (kRagged) {
      if (!whole(first) || skew_of(row) != skew_) return store_elements(row, first, vector);
    }
    store_vector(row + first, vector);
  }

  // Elements between the vector boundary at or before `row` and `row` itself.
  __device__ __forceinline__ static int skew_of(const T* row) {
    return static_cast<int>(reinterpret_cast<u64>(row) / sizeof(T) % kVec);
  }

 private:
  __device__ __forceinline__ Vec load_elements(const T* row, i64 first, T fill) const {
    Vec vector;
#pragma unroll
    for (int j = 0; j < kVec; ++j) vector[j] = inside(first + j) ? row[first + j] : fill;
    return vector;
  }

  __device__ __forceinline__ void store_elements(T* row, i64 first, const Vec& vector) const {
#pragma unroll
    for (int j = 0; j < kVec; ++j) {
      if (inside(first + j)) row[first + j] = vector[j];
    }
  }

  __device__ __forceinline__ bool inside(i64 element) const { return element >= 0 && element < cols_; }
  __device__ __forceinline__ bool whole(i64 first) const { return first >= 0 && first + kVec <= cols_; }

  i64 cols_;
  int skew_;
};

}  // namespace tilewright
