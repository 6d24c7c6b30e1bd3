// SPDX-License-Identifier: Apache-2.0
#pragma once

// A base's block of queries: the warps and tiles of mma.cu for rows at any address and heads of up to kWidth columns,
// 128 or 256. A block has 64 rows of a head and 4 warps. It copies by cp.async if each row starts at a multiple of 16
// bytes, else element by element.
//
// Shared memory: 80 KiB if kWidth is 128, 96 KiB if it is 256.

#include "mma.cu"

namespace tilewright::attention {

enum : int { kBaseRows = 64 };

// The config of mma.cu's pieces; rows start at multiples of kVector bytes.
template <class Config, int kWidth, int kVector>
struct BaseTile : Config {
  enum : int {
    block_m = kBaseRows,
    block_n = kWidth <= 128 ? 64 : 32,
    block_d = kWidth,
    block_dv = kWidth,
    pack = 1,
    vec = kVector,
  };
};

template <int kColumns>
struct Width {
  enum : int { kWidth = kColumns };
};

// Calls work(Width) with the width that holds heads of d and dv columns.
template <class Work>
__device__ __forceinline__ void with_base_width(i64 d, i64 dv, const Work& work) {
  if (d <= 128 && dv <= 128) {
    work(Width<128>());
  } else {
    work(Width<256>());
  }
}

// Whether 32 bits count the tokens, and the blocks of rows of all heads.
__device__ __forceinline__ bool fits_base_tiles(i64 queries, i64 keys, i64 heads, i64 blocks_of_head) {
  constexpr i64 kMostTokens = 1LL << 28, kMostBlocks = 1LL << 30;
  return queries <= kMostTokens && keys <= kMostTokens && heads <= kMostBlocks / blocks_of_head;
}

// Whether each row of a tensor starts at a multiple of kBytes.
template <int kBytes, class T>
__device__ __forceinline__ bool rows_start_at_multiples_of(const Tensor<T>& tensor) {
  const i64 strides = (tensor.batch | tensor.token | tensor.head) * static_cast<i64>(sizeof(T));
  return (reinterpret_cast<u64>(tensor.data) | static_cast<u64>(strides)) % kBytes == 0;
}

// Calls work(BaseTile) with the tile for the tensors' alignment.
template <class Config, int kWidth, class T, class Work>
__device__ __forceinline__ void with_base_tile(const Tensor<const T>& q, const Tensor<const T>& k,
                                               const Tensor<const T>& v, const Tensor<T>& o, const Work& work) {
  if (rows_start_at_multiples_of<16>(q) && rows_start_at_multiples_of<16>(k) && rows_start_at_multiples_of<16>(v) &&
      rows_start_at_multiples_of<4>(o)) {
    work(BaseTile<Config, kWidth, 16>());
  } else {
    work(BaseTile<Config, kWidth, 2>());
  }
}

}  // namespace tilewright::attention
