// SPDX-License-Identifier: Apache-2.0
#pragma once

// The gradient of the norms of device/row/norm.cuh, y = x̂ · weight + bias, x̂ = (x − mean) · rstd, where an RMS norm has no
// mean. With g = dy · weight and n columns:
//
//   dx = rstd · (g − Σg / n − x̂ · Σ(g · x̂) / n) + dsum      an RMS norm without Σg; dsum where kAdd is set
//   dw = Σ over rows of dy · x̂        db = Σ over rows of dy
//
// Nothing of the forward pass is needed but x: a row's statistics are made again, with Σg and Σ(g · x̂), in one exchange.
// Squares are those of distances from one of the row's elements, never E[x²] − E[x]². Two ways, both in fp32:
//
//   rows     a group of threads, of a block or of a cluster, has a row, and the same columns of every row that it gets: so
//            dw and db are sums in registers, which leave the block once. Rows are on their way to shared memory while
//            others are worked on; a thread copies what it will read itself, so that no barrier is needed for that.
//
//              stage 0   x: v0 v1 v2 …   dy: v0 v1 v2 …        a ring of `stages` rows; vi is thread i's vector
//              stage 1   x: v0 v1 v2 …   dy: v0 v1 v2 …
//
//   reread   a kernel for what a row's results share, and one in which a thread has a column; any width and address
//
// and column_sums.cuh adds what the blocks leave. sm_80 and later, clusters sm_90.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/math.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/ptx/opaque.cuh"
#include "device/reduce.cuh"
#include "device/row/column_sums.cuh"
#include "device/row/exchange.cuh"
#include "device/row/reference_sums.cuh"
#include "device/row/statistics.cuh"
#include "device/row/tensors.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"

namespace tilewright::row {

// Sums of four values over kLanes neighbouring lanes, the same in all of them. Halves of the lanes take over halves of the
// values first: 10 shuffles for a warp, where a butterfly a value takes 20.
template <int kLanes>
__device__ __forceinline__ void reduce_four(float (&values)[4]) {
  if constexpr (kLanes < 4) {
#pragma unroll
    for (float& value : values) value = reduce_lanes<kLanes>(value, Sum{});
  } else {
    const bool upper = (threadIdx.x & (kLanes / 2)) != 0, odd = (threadIdx.x & (kLanes / 4)) != 0;
    const float first =
        (upper ? values[2] : values[0]) + __shfl_xor_sync(kFullMask, upper ? values[0] : values[2], kLanes / 2);
    const float second =
        (upper ? values[3] : values[1]) + __shfl_xor_sync(kFullMask, upper ? values[1] : values[3], kLanes / 2);
    float mine = (odd ? second : first) + __shfl_xor_sync(kFullMask, odd ? first : second, kLanes / 4);
    mine = reduce_lanes<kLanes / 4>(mine, Sum{});
#pragma unroll
    for (int i = 0; i < 4; ++i) values[i] = __shfl_sync(kFullMask, mine, i * (kLanes / 4), kLanes);
  }
}

// What is known of some elements of a row: statistics classes (statistics.cuh).
struct PlainGradientSums {
  struct alignas(8) Partial {
    float squares;  // Σ x²
    float product;  // Σ g · x
  };
  template <int kLanes>
  __device__ static __forceinline__ Partial over_lanes(const Partial& partial) {
    return {reduce_lanes<kLanes>(partial.squares, Sum{}), reduce_lanes<kLanes>(partial.product, Sum{})};
  }
};

// Around a value of the part, its first element, so that a mean that is large beside the deviation cancels before anything
// is squared. Parts are brought to the value of the first of them.
struct CentredGradientSums {
  struct alignas(8) Partial {
    float count;
    float shift;
    float sum;       // Σ (x − shift)
    float squares;   // Σ (x − shift)²
    float gradient;  // Σ g
    float product;   // Σ g · (x − shift)
  };
  __device__ static __forceinline__ void move(Partial& partial, float shift) {
    const float off = partial.shift - shift;
    partial.squares = fmaf(off, fmaf(partial.count, off, 2.0f * partial.sum), partial.squares);
    partial.sum = fmaf(partial.count, off, partial.sum);
    partial.product = fmaf(off, partial.gradient, partial.product);
    partial.shift = shift;
  }
  // Of lanes with one shift, and `count` elements in all.
  template <int kLanes>
  __device__ static __forceinline__ Partial over_equal_lanes(const Partial& partial, float count) {
    float values[4] = {partial.sum, partial.squares, partial.gradient, partial.product};
    reduce_four<kLanes>(values);
    return {count, partial.shift, values[0], values[1], values[2], values[3]};
  }
  template <int kLanes>
  __device__ static __forceinline__ Partial over_lanes(Partial partial) {
    move(partial, __shfl_sync(kFullMask, partial.shift, 0, kLanes));
    return over_equal_lanes<kLanes>(partial, reduce_lanes<kLanes>(partial.count, Sum{}));
  }
};

template <bool kCentred>
struct GradientSums {
  using Type = PlainGradientSums;
};
template <>
struct GradientSums<true> {
  using Type = CentredGradientSums;
};

// What the results of a row share: x̂ = x · rstd + shift, dx = g · rstd + x · slope + rest.
struct alignas(16) NormGradientScale {
  float rstd;
  float mean;
  float slope;
  float rest;
};

// x, dy and, with kAdd, dsum; weight; dx. kCentred: a layer norm, with db.
template <class Element, bool kIsCentred, bool kHasAdd>
struct NormGradient {
  using T = Element;
  enum : bool { kCentred = kIsCentred, kAdd = kHasAdd };
  enum : int { kInputs = kHasAdd ? 3 : 2, kSums = kIsCentred ? 2 : 1 };
  using Sums = typename GradientSums<kIsCentred>::Type;
  using Partial = typename Sums::Partial;

  RowTensors<T, kInputs, 1, 1> tensors;
  float eps;

  __device__ __forceinline__ NormGradientScale scale(const Partial& whole, i64 width) const {
    const float inverse = 1.0f / static_cast<float>(width);
    if constexpr (kIsCentred) {
      // Of x − mean = (x − shift) − off.
      const float off = whole.sum * inverse;
      const float variance = fmaf(-off, off, whole.squares * inverse);
      const float rstd = rsqrt_for<T>(fmaxf(variance, 0.0f) + eps);
      const float product = fmaf(-off, whole.gradient, whole.product) * inverse;
      return {rstd, whole.shift + off, -rstd * rstd * rstd * product, -rstd * (whole.gradient * inverse)};
    } else {
      const float rstd = rsqrt_for<T>(fmaf(whole.squares, inverse, eps));
      return {rstd, 0.0f, -rstd * rstd * rstd * (whole.product * inverse), 0.0f};
    }
  }

  // Of an element: dx, and what it adds to dw and db.
  __device__ __forceinline__ float result(float x, float dy, float weight, const NormGradientScale& scale,
                                          float (&sums)[kSums]) const {
    const float centred = kIsCentred ? x - scale.mean : x;
    sums[0] = dy * (centred * scale.rstd);
    if constexpr (kIsCentred) sums[1] = dy;
    return fmaf(dy * weight, scale.rstd, fmaf(centred, scale.slope, scale.rest));
  }
};

// What is kept as it was loaded must be widened anew behind this: the compiler would keep all of it in fp32.
template <class T, int kVec, int kChunks>
__device__ __forceinline__ void keep_narrow(Packed<T, kVec> (&vectors)[kChunks]) {
  struct Words {
    int words[sizeof(Packed<T, kVec>) / sizeof(int)];
  };
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    auto words = __builtin_bit_cast(Words, vectors[chunk]);
#pragma unroll
    for (int& word : words.words) word = ptx::opaque(word);
    vectors[chunk] = __builtin_bit_cast(Packed<T, kVec>, words);
  }
}

// Of some rows at once.
template <class Sums, int kBatch>
struct BatchSums {
  struct Partial {
    typename Sums::Partial rows[kBatch];
  };
  template <int kLanes>
  __device__ static __forceinline__ Partial over_lanes(const Partial& partial) {
    Partial all;
#pragma unroll
    for (int b = 0; b < kBatch; ++b) all.rows[b] = Sums::template over_lanes<kLanes>(partial.rows[b]);
    return all;
  }
  // Of the lanes of a warp, which have `count` elements of each row.
  template <int kLanes>
  __device__ static __forceinline__ Partial over_warp(const Partial& partial, float count) {
    if constexpr (is_same<Sums, CentredGradientSums>) {
      Partial all;
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        all.rows[b] = Sums::template over_equal_lanes<kLanes>(partial.rows[b], count);
      }
      return all;
    } else {
      return over_lanes<kLanes>(partial);
    }
  }
};

// What a thread knows of its vectors of a row, around the first element of its kLanes lanes. Those that it `has` not are
// zeros.
template <class Op, int kLanes, int kVec, int kChunks>
__device__ __forceinline__ typename Op::Partial norm_gradient_partial(
    const Packed<typename Op::T, kVec> (&held)[Op::kInputs][kChunks],
    const Packed<typename Op::T, kVec> (&weights)[kChunks], const bool (&has)[kChunks]) {
  typename Op::Partial mine{};
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    float x[kVec], dy[kVec], weight[kVec];
    to_float(held[0][chunk], x);
    to_float(held[1][chunk], dy);
    to_float(weights[chunk], weight);
    if constexpr (Op::kCentred) {
      if (chunk == 0) mine.shift = __shfl_sync(kFullMask, x[0], 0, kLanes);
    }
#pragma unroll
    for (int j = 0; j < kVec; ++j) {
      const float g = dy[j] * weight[j];
      if constexpr (Op::kCentred) {
        const float off = has[chunk] ? x[j] - mine.shift : 0.0f;
        mine.sum += off;
        mine.squares = fmaf(off, off, mine.squares);
        mine.gradient += g;
        mine.product = fmaf(g, off, mine.product);
      } else {
        mine.squares = fmaf(x[j], x[j], mine.squares);
        mine.product = fmaf(g, x[j], mine.product);
      }
    }
  }
  return mine;
}

// How the warps of a row tell each other, send before receive, for kGroups rows side by side in a block; with a cluster, in
// all of its blocks. As for Exchange, a row may be sent before the last one is received.
template <class Sums, int kWarps, int kGroups, int kCluster>
class RowTalk {
 public:
  using Partial = typename Sums::Partial;
  using Between = Exchange<Sums, kWarps, kCluster, 4>;
  enum : int { kOfRow = kWarps / kGroups };

  __device__ __forceinline__ explicit RowTalk(u8* shared)
      : between_(*reinterpret_cast<typename Between::Storage*>(shared)), slots_(reinterpret_cast<Partial*>(shared)) {
    if constexpr (kCluster > 1) {
      if (threadIdx.x == 0) {
        between_.init();
        ptx::fence_mbarrier_init();
      }
      __syncthreads();
      between_.prepare();
    }
  }
  __device__ __forceinline__ void send(const Partial& mine, i64 turn) {
    if constexpr (kCluster > 1) {
      between_.send(mine, turn);
    } else if constexpr (kOfRow > 1) {
      if (threadIdx.x % kWarpSize == 0) slots_[turn % 4 * kWarps + threadIdx.x / kWarpSize] = mine;
      __syncthreads();
    } else {
      own_[turn % 2] = mine;
    }
  }
  __device__ __forceinline__ Partial receive(i64 turn) {
    if constexpr (kCluster > 1) {
      return between_.receive(turn);
    } else if constexpr (kOfRow > 1) {
      const int group = static_cast<int>(threadIdx.x) / (kOfRow * kWarpSize);
      return over_slots<Sums, kOfRow>(slots_ + turn % 4 * kWarps + group * kOfRow);
    } else {
      return turn % 2 == 0 ? own_[0] : own_[1];
    }
  }

 private:
  Between between_;
  Partial* slots_;
  Partial own_[2];  // of a row that is a warp's, or part of one
};

// Config: num_warps, rows_per_block, batch, vec, chunks, stages, ahead; static_dims with cols; cluster. With ahead=1 a row's
// sums are sent before the last row's are awaited, and its elements taken from shared memory twice. Thread t of a row has
// its vectors t, t + cluster · threads_per_row, … (chunks of them), of `batch` rows at once, whose sums go together.
// Shared memory: what warps and blocks tell each other, round_up(4 · batch · (num_warps + cluster) partials + 32, 128), then
// the ring; behind the last row the sums of rows_per_block groups are there.
template <class Config, class Op>
__device__ __forceinline__ void norm_gradient_rows(const Op& op, const ColumnPartials& partials, i64 rows, i64 cols) {
  using T = typename Op::T;
  constexpr int kVec = Config::vec, kChunks = Config::chunks, kStages = Config::stages, kRows = Config::rows_per_block;
  constexpr int kBatch = Config::batch, kCluster = Config::cluster;
  constexpr bool kNarrow = sizeof(T) == 2;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  constexpr int kThreadsPerRow = kThreads / kRows;
  constexpr int kLanes = kThreadsPerRow < kWarpSize ? kThreadsPerRow : kWarpSize;
  constexpr int kWarpsPerRow = kThreadsPerRow / kLanes;
  using Sums = BatchSums<typename Op::Sums, kBatch>;
  using Partial = typename Sums::Partial;
  constexpr int kHeader =
      round_up<int>(4 * static_cast<int>(sizeof(Partial)) * (Config::num_warps + kCluster) + 32, 128);
  static_assert(kThreads % kRows == 0 && kThreadsPerRow >= 4, "rows_per_block leaves a row 4 threads or more");
  static_assert(kCluster == 1 || kRows == 1, "a cluster has one row at a time");
  static_assert(kVec * sizeof(T) <= 16 && kVec * sizeof(T) >= 4, "a vector has 4 to 16 bytes");
  constexpr bool kAhead = Config::ahead != 0;
  using Talk = RowTalk<Sums, Config::num_warps, (kWarpsPerRow == 1 ? Config::num_warps : kRows), kCluster>;
  static_assert(sizeof(typename Talk::Between::Storage) <= kHeader, "partials fit in front of the ring");
  static_assert(!kAhead || (kStages >= 3 && kBatch == 1), "a row ahead needs a stage more, and is one row");

  u8* const shared = shared_storage<u8>();
  auto* const ring = reinterpret_cast<Packed<T, kVec>*>(shared + kHeader);
  Talk talk(shared);

  const i64 width = Config::cols ? Config::cols : cols;
  const int rank = kCluster > 1 ? static_cast<int>(ptx::cluster_rank()) : 0;
  const int thread = static_cast<int>(threadIdx.x) % kThreadsPerRow;
  const int group = static_cast<int>(threadIdx.x) / kThreadsPerRow;
  const i64 part = blockIdx.x / u32{kCluster}, part_count = gridDim.x / u32{kCluster};
  const i64 step = part_count * kRows;
  const auto column_of = [&](int chunk) { return (i64{(chunk * kCluster + rank) * kThreadsPerRow + thread}) * kVec; };
  const auto slot_of = [&](int stage, int b, int input, int chunk) {
    return ring + (((stage * kBatch + b) * Op::kInputs + input) * kChunks + chunk) * kThreads + threadIdx.x;
  };
  // The columns of a thread are the same in every row, and so is whether it has them.
  bool has[kChunks];
  float count = 0.0f;
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    has[chunk] = column_of(chunk) < width;
    count += has[chunk] ? static_cast<float>(kVec) : 0.0f;
  }
  count = reduce_lanes<kLanes>(count, Sum{});

  const auto fetch = [&](i64 row, int stage) {
#pragma unroll
    for (int b = 0; b < kBatch; ++b, row += step) {
      if (row >= rows) break;
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) {
        const T* const begin = op.tensors.inputs[input].row(row);
#pragma unroll
        for (int chunk = 0; chunk < kChunks; ++chunk) {
          if (has[chunk]) ptx::cp_async<kVec * sizeof(T)>(slot_of(stage, b, input, chunk), begin + column_of(chunk));
        }
      }
    }
    ptx::cp_async_commit();
  };

  // Fill the ring; the weights.
#pragma unroll
  for (int stage = 0; stage < kStages; ++stage) fetch(part * kRows + group + stage * kBatch * step, stage);
  Vector<T, kVec> none;
#pragma unroll
  for (int j = 0; j < kVec; ++j) none[j] = from_float<T>(0.0f);
  Packed<T, kVec> weights[kChunks];
  float sums[Op::kSums][kChunks][kVec] = {};
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    weights[chunk] = pack(none);
    if (has[chunk]) weights[chunk] = load_packed<kVec, Load::kConstant>(op.tensors.columns[0] + column_of(chunk));
  }

  using Held = Packed<T, kVec>[kBatch][Op::kInputs][kChunks];
  const auto take = [&](i64 first, int stage, Held& held) {
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) {
#pragma unroll
        for (int chunk = 0; chunk < kChunks; ++chunk) {
          held[b][input][chunk] = pack(none);
          if (first + group + b * step < rows && has[chunk]) held[b][input][chunk] = *slot_of(stage, b, input, chunk);
        }
      }
    }
  };
  // Of rows: what the warp knows of them.
  const auto statistics = [&](const Held& held) {
    if constexpr (kNarrow) keep_narrow(weights);
    Partial mine;
#pragma unroll
    for (int b = 0; b < kBatch; ++b) mine.rows[b] = norm_gradient_partial<Op, kLanes, kVec>(held[b], weights, has);
    return Sums::template over_warp<kLanes>(mine, count);
  };
  const auto write = [&](i64 first, Held& held, const Partial& whole) {
    if constexpr (kNarrow) keep_narrow(weights);
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const i64 row = first + group + b * step;
      if constexpr (kNarrow) {
#pragma unroll
        for (int input = 0; input < Op::kInputs; ++input) keep_narrow(held[b][input]);
      }
      const NormGradientScale scale = op.scale(whole.rows[b], width);
      T* const dx = op.tensors.outputs[0].row(row < rows ? row : 0);
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        float x[kVec], dy[kVec], weight[kVec], result[kVec], dsum[kVec];
        to_float(held[b][0][chunk], x);
        to_float(held[b][1][chunk], dy);
        to_float(weights[chunk], weight);
        if constexpr (Op::kAdd) to_float(held[b][Op::kInputs - 1][chunk], dsum);
#pragma unroll
        for (int j = 0; j < kVec; ++j) {
          float added[Op::kSums];
          result[j] = op.result(x[j], dy[j], weight[j], scale, added);
          if constexpr (Op::kAdd) result[j] += dsum[j];
#pragma unroll
          for (int s = 0; s < Op::kSums; ++s) sums[s][chunk][j] += added[s];
        }
        if (row < rows && has[chunk]) store_vector(dx + column_of(chunk), from_float<T>(result));
      }
    }
  };

  int stage = 0;
  i64 turn = 0;
  if constexpr (kAhead) {
    const auto send = [&](i64 first, int its_stage, i64 its_turn) {
      Held held;
      take(first, its_stage, held);
      talk.send(statistics(held), its_turn);
    };
    const i64 begin = part * kRows;
    ptx::cp_async_wait<kStages - 1>();
    if (begin < rows) send(begin, 0, 0);
    for (i64 first = begin; first < rows; first += step, ++turn) {
      const int next_stage = stage + 1 == kStages ? 0 : stage + 1;
      ptx::cp_async_wait<kStages - 2>();
      if (first + step < rows) send(first + step, next_stage, turn + 1);
      const Partial whole = talk.receive(turn);
      Held held;
      take(first, stage, held);
      write(first, held, whole);
      fetch(first + group + kStages * step, stage);
      stage = next_stage;
    }
  } else {
    for (i64 first = part * kRows; first < rows; first += kBatch * step, ++turn) {
      ptx::cp_async_wait<kStages - 1>();
      Held held;
      take(first, stage, held);
      const Partial warp = statistics(held);
      fetch(first + group + kStages * kBatch * step, stage);
      if (++stage == kStages) stage = 0;
      talk.send(warp, turn);
      write(first, held, talk.receive(turn));
    }
  }
  let_column_sums_start();

  // What the block has of dw and db: that of its groups, in their order.
  if (threadIdx.x == 0 && blockIdx.x == 0) *partials.parts = part_count;
  ptx::cp_async_wait<0>();
#pragma unroll
  for (int s = 0; s < Op::kSums; ++s) {
    float* const out = partials.row(s, part, part_count);
    if constexpr (kRows == 1) {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        if (!has[chunk]) continue;
#pragma unroll
        for (int j = 0; j < kVec; ++j) out[column_of(chunk) + j] = sums[s][chunk][j];
      }
    } else {
      constexpr int kWide = kThreadsPerRow * kChunks * kVec;
      auto* const all = reinterpret_cast<float*>(shared);
      __syncthreads();
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
#pragma unroll
        for (int j = 0; j < kVec; ++j) all[group * kWide + column_of(chunk) + j] = sums[s][chunk][j];
      }
      __syncthreads();
      for (int c = static_cast<int>(threadIdx.x); c < kWide && c < width; c += kThreads) {
        float sum = all[c];
#pragma unroll 4
        for (int g = 1; g < kRows; ++g) sum += all[g * kWide + c];
        out[c] = sum;
      }
    }
  }
}

// reread, first kernel: a block a row. Shared memory: 2 · num_warps partials.
template <class Config, class Op>
__device__ __forceinline__ void norm_gradient_scales(const Op& op, NormGradientScale* scales, i64 rows, i64 cols) {
  using Partial = typename Op::Partial;
  using Sums = typename Op::Sums;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  int parity = 0;
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x, parity ^= 1) {
    const auto* const x = op.tensors.inputs[0].row(r);
    const auto* const dy = op.tensors.inputs[1].row(r);
    Partial mine{};
    if constexpr (Op::kCentred) mine.shift = to_float(x[0]);
    for (i64 c = threadIdx.x; c < cols; c += kThreads) {
      const float g = to_float(dy[c]) * to_float(op.tensors.columns[0][c]);
      if constexpr (Op::kCentred) {
        const float off = to_float(x[c]) - mine.shift;
        mine.count += 1.0f;
        mine.sum += off;
        mine.squares = fmaf(off, off, mine.squares);
        mine.gradient += g;
        mine.product = fmaf(g, off, mine.product);
      } else {
        mine.squares = fmaf(to_float(x[c]), to_float(x[c]), mine.squares);
        mine.product = fmaf(g, to_float(x[c]), mine.product);
      }
    }
    Partial* const slots = shared_storage<Partial>() + parity * Config::num_warps;
    const Partial whole = merge_warps<Sums, Config::num_warps>(Sums::template over_lanes<kWarpSize>(mine), slots, warp);
    if (threadIdx.x == 0) scales[r] = op.scale(whole, cols);
  }
}

// reread, second kernel: a thread has a column, of the rows blockIdx.y, blockIdx.y + gridDim.y, …
template <class Config, class Op>
__device__ __forceinline__ void norm_gradient_columns(const Op& op, const NormGradientScale* scales,
                                                      const ColumnPartials& partials, i64 rows, i64 cols) {
  using T = typename Op::T;
  constexpr int kUnroll = 4;
  if (threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.y == 0) *partials.parts = gridDim.y;
  const i64 step = gridDim.y;
  for (i64 c = i64{blockIdx.x} * blockDim.x + threadIdx.x; c < cols; c += i64{gridDim.x} * blockDim.x) {
    const float weight = to_float(op.tensors.columns[0][c]);
    float sums[Op::kSums] = {};
    const auto add_row = [&](i64 r, const T(&in)[Op::kInputs]) {
      float added[Op::kSums];
      float result = op.result(to_float(in[0]), to_float(in[1]), weight, scales[r], added);
      if constexpr (Op::kAdd) result += to_float(in[Op::kInputs - 1]);
      op.tensors.outputs[0].row(r)[c] = from_float<T>(result);
#pragma unroll
      for (int s = 0; s < Op::kSums; ++s) sums[s] += added[s];
    };
    for (i64 r = blockIdx.y; r < rows; r += step * kUnroll) {
      T in[kUnroll][Op::kInputs];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (r + u * step >= rows) break;
#pragma unroll
        for (int input = 0; input < Op::kInputs; ++input) in[u][input] = op.tensors.inputs[input].row(r + u * step)[c];
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (r + u * step < rows) add_row(r + u * step, in[u]);
      }
    }
#pragma unroll
    for (int s = 0; s < Op::kSums; ++s) partials.row(s, blockIdx.y, step)[c] = sums[s];
  }
  let_column_sums_start();
}

// What is right, in fp64: a warp has the rows 32 w to 32 w + 31, each lane what the results of one of them share. `db` is
// null where there is none.
template <class Op>
__device__ __forceinline__ void norm_gradient_reference(const Op& op, Matrix<double> dx, double* dw, double* db,
                                                        i64 rows, i64 cols) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = i64{gridDim.x} * (blockDim.x / kWarpSize);
  const i64 warp = i64{blockIdx.x} * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  const double n = static_cast<double>(cols);
  const auto x = [&](i64 r, i64 c) { return double{to_float(op.tensors.inputs[0].row(r)[c])}; };
  const auto dy = [&](i64 r, i64 c) { return double{to_float(op.tensors.inputs[1].row(r)[c])}; };
  const auto weight = [&](i64 c) { return double{to_float(op.tensors.columns[0][c])}; };
  for (i64 first = warp * kWarpSize; first < rows; first += warps * kWarpSize) {
    const int count = static_cast<int>(min(i64{kWarpSize}, rows - first));
    double rstd = 0.0, mean = 0.0, along = 0.0, across = 0.0;  // of row first + lane
    for (int i = 0; i < count; ++i) {
      double row_mean = 0.0, squares = 0.0, gradient = 0.0, product = 0.0;
      if constexpr (Op::kCentred) {
        for (i64 c = lane; c < cols; c += kWarpSize) row_mean += x(first + i, c);
        row_mean = reduce_lanes<kWarpSize>(row_mean, Sum{}) / n;
      }
      for (i64 c = lane; c < cols; c += kWarpSize) {
        const double centred = x(first + i, c) - row_mean, g = dy(first + i, c) * weight(c);
        squares += centred * centred;
        gradient += Op::kCentred ? g : 0.0;
        product += g * centred;
      }
      const double row_rstd = 1.0 / sqrt(reduce_lanes<kWarpSize>(squares, Sum{}) / n + double{op.eps});
      product = reduce_lanes<kWarpSize>(product, Sum{});
      gradient = reduce_lanes<kWarpSize>(gradient, Sum{});
      if (lane != i) continue;
      rstd = row_rstd;
      mean = row_mean;
      along = product * row_rstd / n;
      across = gradient / n;
    }
    __syncwarp();
    for (i64 c = lane; c - lane < cols; c += kWarpSize) {
      double weight_sum = 0.0, bias_sum = 0.0;
      for (int i = 0; i < count; ++i) {
        const double its_rstd = __shfl_sync(kFullMask, rstd, i), its_mean = __shfl_sync(kFullMask, mean, i);
        const double its_along = __shfl_sync(kFullMask, along, i), its_across = __shfl_sync(kFullMask, across, i);
        if (c >= cols) continue;
        const double normal = (x(first + i, c) - its_mean) * its_rstd, gradient = dy(first + i, c);
        double result = its_rstd * (gradient * weight(c) - its_across - normal * its_along);
        if constexpr (Op::kAdd) result += double{to_float(op.tensors.inputs[Op::kInputs - 1].row(first + i)[c])};
        dx.row(first + i)[c] = result;
        weight_sum += gradient * normal;
        bias_sum += gradient;
      }
      if (c >= cols) continue;
      add_to_sum(dw + c, weight_sum);
      if (db != nullptr) add_to_sum(db + c, bias_sum);
    }
  }
}

}  // namespace tilewright::row
