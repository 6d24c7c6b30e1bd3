// SPDX-License-Identifier: Apache-2.0
//
// Cross-entropy with its gradient (cross_entropy.cu, whose ops and arguments these are) of wide rows in the registers of a
// cluster, as `cluster` has them, without a barrier in a block: warps tell all others what they know of a row
// (device/row/warps_talk.cuh). A thread finds the largest of its elements first, so that its exponentials wait for nothing.
//
// A thread copies the vectors of its next row to shared memory itself.

#include "cross_entropy/cross_entropy.cu"
#include "device/ptx/fence.cuh"
#include "device/row/warps_talk.cuh"

namespace cross_entropy {

template <class T>
struct MergedSums : Sums<T> {
  using Partial = typename Sums<T>::Partial;
  __device__ static __forceinline__ Partial merged(const Partial& a, const Partial& b) {
    using Exponentials = row::Exponentials<T>;
    const float max = fmaxf(a.max, b.max);
    return {max, a.sum * Exponentials::rescaling(a.max, max) + b.sum * Exponentials::rescaling(b.max, max),
            a.total + b.total, a.target + b.target};
  }
};

// The largest of some vectors' elements; NaN counts only where there is nothing else.
template <class T, int kVec>
struct Largest {
  float value = -kInfinity;
  __device__ __forceinline__ void add(const Packed<T, kVec>& packed) {
    float values[kVec];
    to_float(packed, values);
#pragma unroll
    for (int k = 0; k < kVec; ++k) value = fmaxf(value, values[k]);
  }
  __device__ __forceinline__ float get() const { return value; }
};
template <int kVec>
struct Largest<__nv_bfloat16, kVec> {
  __nv_bfloat162 pair = __float2bfloat162_rn(-kInfinity);
  __device__ __forceinline__ void add(const Packed<__nv_bfloat16, kVec>& packed) {
    const Vector<__nv_bfloat16, kVec> vector = unpack(packed);
#pragma unroll
    for (int k = 0; k < kVec; k += 2) pair = __hmax2(pair, __halves2bfloat162(vector[k], vector[k + 1]));
  }
  __device__ __forceinline__ float get() const { return fmaxf(to_float(pair.x), to_float(pair.y)); }
};

// Config: num_warps, vec, chunks, ragged, cluster, blocks; static_dims with vocab. Thread t of the cluster's has the row's
// vectors t, t + threads, … (chunks of them), and of a ragged row edge t, too. Shared memory: what warps tell each other,
// round_up(64 · num_warps · cluster + 32, 128), then a vector for each of a thread's.
template <class Config>
__device__ __forceinline__ void told(const Op<Config>& op, i64 rows) {
  using T = typename Config::dtype;
  using Partial = typename Op<Config>::Partial;
  using Exponentials = typename Sums<T>::Exponentials;
  constexpr int kVec = Config::vec, kCluster = Config::cluster, kChunks = Config::chunks;
  constexpr bool kRagged = Config::ragged != 0;
  constexpr int kOfBlock = Config::num_warps * kWarpSize, kThreads = kOfBlock * kCluster;
  constexpr int kHeader = round_up<int>(64 * Config::num_warps * kCluster + 32, 128);
  using RowSpan = row::Span<kVec, kRagged, int>;
  using Talk = row::WarpsTalk<MergedSums<T>, Config::num_warps, kCluster>;
  static_assert(Op<Config>::kGradient && kCluster > 1, "for gradients, by clusters");
  static_assert(kVec * sizeof(T) == 16, "a vector has 16 bytes");
  static_assert(RowSpan::kMaxEdges <= kThreads, "a thread has one edge");
  static_assert(sizeof(typename Talk::Storage) <= kHeader, "partials fit in front of the vectors");

  const i64 part = blockIdx.x / u32{kCluster}, step = gridDim.x / u32{kCluster};
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int thread = rank * kOfBlock + static_cast<int>(threadIdx.x);
  const int width = static_cast<int>(Config::vocab ? Config::vocab : op.vocab);
  u8* const shared = shared_storage<u8>();
  if (kRagged && !in_step(op)) {
    int parity = 0;
    for (i64 r = part; rank == 0 && r < rows; r += step, parity ^= 1) {
      reread_row<Config, 1>(op, NoVectors{}, r, reinterpret_cast<Partial*>(shared) + parity * Config::num_warps);
    }
    return;
  }
  Talk talk(*reinterpret_cast<typename Talk::Storage*>(shared));
  if (threadIdx.x == 0) {
    talk.init();
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  talk.prepare();

  struct Coming {
    typename Op<Config>::Known known;
    T edge;
  };
  auto* const slots = reinterpret_cast<Packed<T, kVec>*>(shared + kHeader) + threadIdx.x;
  const auto copy = [&](i64 r, Coming& coming) {
    if (r < rows) {
      const T* const row = op.logits.row(r);
      const RowSpan span(row, width);
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        const int i = chunk * kThreads + thread;
        if (i < span.vectors()) ptx::cp_async<16>(slots + chunk * kOfBlock, row + span.column(i));
      }
      if (kRagged && thread < span.edges()) coming.edge = row[span.edge_column(thread)];
    }
    ptx::cp_async_commit();
  };
  const auto know = [&](i64 r, Coming& coming) {
    if (r < rows) coming.known = op.know(r, thread == 0);
  };

  Coming coming{};
  copy(part, coming);
  know(part, coming);
  i64 turn = 0;
  for (i64 r = part; r < rows; r += step, ++turn) {
    const Coming now = coming;
    const RowSpan span(op.logits.row(r), width);
    const auto has = [&](int chunk) { return chunk * kThreads + thread < span.vectors(); };
    ptx::cp_async_wait<0>();
    Packed<T, kVec> loaded[kChunks];
    Largest<T, kVec> most;
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      if (!has(chunk)) continue;
      loaded[chunk] = slots[chunk * kOfBlock];
      most.add(loaded[chunk]);
    }
    copy(r + step, coming);
    // The target's logit, for the thread that has its column: nobody else writes there.
    const i64 in_vectors = now.known.target - span.column(0);
    float own_logit = 0.0f;
    if (in_vectors >= 0 && in_vectors < i64{span.vectors()} * kVec &&
        static_cast<int>(in_vectors) / kVec % kThreads == thread) {
      own_logit = to_float(op.logits.row(r)[now.known.target]);
    }

    Partial mine = Op<Config>::first_partial(now.known);
    mine.max = most.get();
    if (op.smoothing != 0.0f) {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        if (!has(chunk)) continue;
        float values[kVec];
        to_float(loaded[chunk], values);
#pragma unroll
        for (int k = 0; k < kVec; ++k) mine.total += values[k];
      }
    }
    float sums[4] = {};
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      if (!has(chunk)) continue;
      float values[kVec];
      to_float(loaded[chunk], values);
      Exponentials::exponentials(values, mine.max);
#pragma unroll
      for (int k = 0; k < kVec; ++k) sums[k % 4] += values[k];
    }
    mine.sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    if (kRagged && thread < span.edges()) {
      float values[1] = {to_float(now.edge)};
      Sums<T>::add(mine, values);
    }
    talk.send(Sums<T>::template over_lanes<kWarpSize>(mine), turn);
    know(r + step, coming);

    const Partial whole = talk.receive(turn);
    if (thread == 0) op.write_loss(r, now.known.target, whole);
    const auto scale = op.scale_of(now.known, whole);
    T* const out = op.dlogits.row(r);
    if (scale.ignored) {
      const float zeros[kVec] = {};
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        if (has(chunk)) store_vector(out + span.column(chunk * kThreads + thread), from_float<T>(zeros));
      }
    } else {
      float own[1] = {own_logit};
      Exponentials::exponentials(own, scale.max);
      own[0] = fmaf(own[0], scale.scale, -scale.rest) - scale.hit;
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        if (!has(chunk)) continue;
        const int column = span.column(chunk * kThreads + thread);
        float values[kVec];
        to_float(loaded[chunk], values);
        Exponentials::exponentials(values, scale.max);
#pragma unroll
        for (int k = 0; k < kVec; ++k) values[k] = fmaf(values[k], scale.scale, -scale.rest);
        if (static_cast<u64>(scale.target - column) < kVec) {
#pragma unroll
          for (int k = 0; k < kVec; ++k) values[k] = scale.target - column == k ? own[0] : values[k];
        }
        store_vector(out + column, from_float<T>(values));
      }
    }
    if (kRagged && thread < span.edges()) {
      const Vector<T, 1> one{{now.edge}};
      op.template write_gradient<1>(pack(one), scale, r, span.edge_column(thread));
    }
  }
}

}  // namespace cross_entropy

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::blocks)
    cross_entropy_told(long long rows, long long vocab, const typename Config::dtype* logits, const long long* target,
                       const float* dloss, float* loss, float* lse, typename Config::dtype* dlogits, float smoothing,
                       long long ignore, long long logits_pitch, long long dlogits_pitch) {
  cross_entropy::told<Config>(
      op_of<Config>(vocab, logits, target, dloss, loss, lse, dlogits, smoothing, ignore, logits_pitch, dlogits_pitch),
      rows);
}
