// SPDX-License-Identifier: Apache-2.0
//
// y[r][c] = dropout(act((x[r][c] + bias[c]) · scale)) of dense matrices whose rows are no whole vectors. y may be x
// itself. Computed in fp32, rounded once. device/dropout.cuh has the mask.
//
// y is one row of vectors, which may straddle two rows. kVec rows are whole vectors, so the vectors of a thread, kVec
// rows apart, lie in the same columns: they share the bias and all places.
//
//   panel      | rows 0 … kVec-1 |  a thread has vector w of each of `unroll` panels, one below the other; its block
//   panel      | rows kVec …     |  has the next vectors, also those of the next panels
//
// A Philox gives the words of four columns from a multiple of 4 on, and a vector starts anywhere in such a group. The
// block first draws a bit for each element, a thread two whole groups at a time. Rows are padded to whole groups:
//
//   elements   | a a a a a a a | b b b b b b b |    7 columns; a vector of 8 straddles the rows a and b
//   bits       | a a a a a a a . b b b b b b b . |  element e of row r has bit e + r · gap
//
// A thread reads the bits of a vector, with the gap, as one word and closes the gap. Straddling vectors and those next
// to them read the bias by elements, others by vectors: no byte beside it is read.
//
// Shared memory: the bits. sm_80 and later.

#include "device/activation.cuh"
#include "device/convert.cuh"
#include "device/divide.cuh"
#include "device/dropout_mask.cuh"
#include "device/elementwise/hints.cuh"
#include "device/shared.cuh"
#include "device/unaligned.cuh"

namespace bias_act_dropout {

// The bits of columns 4 · group to 4 · group + 3: 1 for kept elements.
__device__ __forceinline__ tilewright::u32 kept_bits(const tilewright::DropoutMask& mask, tilewright::u32 row,
                                                     tilewright::u32 group) {
  float ones[4] = {1.0f, 1.0f, 1.0f, 1.0f};
  mask.apply(ones, row, tilewright::u64{group} * 4);
  tilewright::u32 bits = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) bits |= ones[k] != 0.0f ? 1u << k : 0u;
  return bits;
}

}  // namespace bias_act_dropout

// `cols_inverse` and `groups_inverse` are the inverses (device/divide.cuh) of a row's columns and groups of four.
template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    bias_act_dropout_ragged(long long height, long long width, const typename Config::dtype* x,
                            const typename Config::dtype* bias, typename Config::dtype* y, long long cols_inverse,
                            long long groups_inverse, float scale, float p, unsigned long long seed,
                            unsigned long long offset) {
  using namespace tilewright;
  using namespace tilewright::elementwise;
  using bias_act_dropout::kept_bits;
  using T = typename Config::dtype;
  constexpr int kVec = Config::vec, kHalf = kVec / 2, kPanels = Config::unroll;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  constexpr int kTile = kThreads * kVec;  // elements of a panel
  constexpr int kTileBytes = kTile / 8;
  constexpr int kDraws = kPanels * kVec / 8;  // of a thread for whole tiles
  using BiasSkew = Skew<T, kVec, false>;
  static_assert(kVec >= 4 && kVec * sizeof(T) <= 16, "a vector has four elements or more, and at most 16 bytes");
  static_assert(kDraws * 8 == kPanels * kVec, "a thread draws 8 bits at a time");

  const u32 rows = static_cast<u32>(height), cols = static_cast<u32>(width);
  const u32 groups = ceil_div(cols, 4u);
  const u32 gap = groups * 4 - cols;
  const u32 below = cols * kVec;  // from a panel to the next

  // Rows, elements and groups are counted over the first panel of each kPanels, as if others did not exist.
  const u32 counted_rows = rows / (kPanels * kVec) * kVec + min(rows % (kPanels * kVec), u32{kVec});
  const u32 begin = blockIdx.x * kTile;
  const u32 count = min(counted_rows * cols - begin, u32{kTile});
  const auto row_of = [=](u32 element) { return divide_by_inverse(element, static_cast<u64>(cols_inverse)); };
  // The row of the matrix.
  const auto true_row = [=](u32 row) { return row + row / kVec * (kVec * (kPanels - 1)); };

  const u32 first_group = row_of(begin) * groups + (begin - row_of(begin) * cols) / 4;
  // The place of an element's bit in each panel.
  const auto place_of = [=](u32 element, u32 row) { return element + row * gap - first_group * 4; };
  const u32 last = begin + count - 1;
  const u32 last_row = row_of(last);
  // A vector's bits are read with the word behind them.
  const u32 words = place_of(last, last_row) / 32 + 2;

  u32* const bits = shared_storage<u32>();
  const DropoutMask mask(p, seed, offset);
  const auto draw = [&](u32 byte, u32 panel) {
    const u32 group = first_group + byte * 2;
    const u32 row = divide_by_inverse(group, static_cast<u64>(groups_inverse));
    const u32 within = group - row * groups;
    const bool ends = within + 1 == groups;
    const u32 low = kept_bits(mask, true_row(row) + panel * kVec, within);
    const u32 high = kept_bits(mask, true_row(ends ? row + 1 : row) + panel * kVec, ends ? 0 : within + 1);
    reinterpret_cast<u8*>(bits + panel * words)[byte] = static_cast<u8>(low | high << 4);
  };
  // The bits behind those of whole tiles.
  const auto draw_rest = [&](u32 from) {
#pragma unroll 1
    for (u32 i = from * kPanels + threadIdx.x; i < words * 4 * kPanels; i += kThreads) draw(i / kPanels, i % kPanels);
  };

  const u32 element = begin + threadIdx.x * kVec;
  const u32 row = row_of(element);
  const u32 column = element - row * cols;
  const u32 at = element + (true_row(row) - row) * cols;

  // The bias's three half vectors from the last aligned one before `column` on, if they lie in it.
  const bool reads_vectors = column + kVec + kHalf <= cols;
  const T* const aligned = bias + (reads_vectors ? column / kHalf * kHalf : 0);
  const auto load_bias = [=]() -> typename BiasSkew::Vectors {
    return {{load_packed<kHalf, Load::kConstant>(aligned), load_packed<kHalf, Load::kConstant>(aligned + kHalf),
             load_packed<kHalf, Load::kConstant>(aligned + 2 * kHalf)}};
  };
  float biases[kVec];
  const auto take_bias = [&](const typename BiasSkew::Vectors& loaded) {
    if (reads_vectors) {
      to_float(BiasSkew(bias + column).take(loaded), biases);
    } else {
#pragma unroll
      for (u32 j = 0; j < kVec; ++j) biases[j] = to_float(bias[column + j < cols ? column + j : column + j - cols]);
    }
  };

  const u32 place = place_of(element, row);
  const u32 of_this_row = (1u << min(cols - column, u32{kVec})) - 1;
  // Leaves the results in `values`.
  const auto apply = [&](u32 panel, float(&values)[kVec]) {
    const u32* const from = bits + panel * words + place / 32;
    const u32 kept_and_gap = __funnelshift_r(from[0], from[1], place % 32);
    const u32 kept = (kept_and_gap & of_this_row) | (kept_and_gap >> gap & ~of_this_row);
#pragma unroll
    for (int j = 0; j < kVec; ++j) {
      const float value = activate<Config, T>((values[j] + biases[j]) * scale) * mask.scale();
      values[j] = (kept & 1u << j) != 0 ? value : 0.0f;
    }
  };

  if (count == kTile && (last_row / kVec + 1) * (kPanels * kVec) <= rows) {
    // Issue all loads, also the bias's, before the draws.
    Packed<T, kVec> loaded[kPanels];
#pragma unroll
    for (int u = 0; u < kPanels; ++u) loaded[u] = load_packed<kVec, kLoadOfFirst<Config>>(x + (at + u * below));
    const auto loaded_bias = load_bias();
#pragma unroll
    for (int d = 0; d < kDraws; ++d) {
      draw(threadIdx.x % kTileBytes, d * (kThreads / kTileBytes) + threadIdx.x / kTileBytes);
    }
    draw_rest(kTileBytes);
    take_bias(loaded_bias);
    __syncthreads();
#pragma unroll
    for (int u = 0; u < kPanels; ++u) {
      float values[kVec];
      to_float(loaded[u], values);
      apply(u, values);
      store_vector<kStoreOfY<Config>>(y + (at + u * below), from_float<T>(values));
    }
    return;
  }

  // The last rows. The last elements may be no whole vector.
  draw_rest(0);
  __syncthreads();
  const u32 elements = rows * cols;
  if (at >= elements) return;
  take_bias(load_bias());
#pragma unroll 1
  for (u32 u = 0; u < kPanels && at + u * below < elements; ++u) {
    const u32 i = at + u * below;
    float values[kVec];
    if (i + kVec <= elements) {
      to_float(load_packed<kVec, kLoadOfFirst<Config>>(x + i), values);
      apply(u, values);
      store_vector<kStoreOfY<Config>>(y + i, from_float<T>(values));
    } else {
#pragma unroll
      for (int j = 0; j < kVec; ++j) values[j] = i + j < elements ? to_float(x[i + j]) : 0.0f;
      apply(u, values);
#pragma unroll
      for (int j = 0; j < kVec; ++j) {
        if (i + j < elements) y[i + j] = from_float<T>(values[j]);
      }
    }
  }
}
