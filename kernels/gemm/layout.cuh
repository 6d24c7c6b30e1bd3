// SPDX-License-Identifier: Apache-2.0
#pragma once

// The layouts of a product's operands. An operand has `extent` rows (m of a, n of b) and k columns. In memory the
// elements of a row are contiguous (k-major), or those of a column.
//
//   layout   a              b
//   nt       k-major        k-major
//   nn       k-major        by columns
//   tn       by columns     by columns

#include "device/config.cuh"

namespace tilewright::gemm {

template <class Config>
struct Layout {
  enum : bool { kMajorA = Config::layout != "tn", kMajorB = Config::layout == "nt" };
};

template <class T, bool kIsKMajor>
struct Operand {
  enum : bool { kKMajor = kIsKMajor };

  const T* data;
  i64 extent, k;

  // The distance from one run of contiguous elements to the next.
  __device__ __forceinline__ i64 pitch() const { return kKMajor ? k : extent; }
  __device__ __forceinline__ const T* at(i64 row, i64 column) const {
    return data + (kKMajor ? row * k + column : column * extent + row);
  }
};

}  // namespace tilewright::gemm
