// SPDX-License-Identifier: Apache-2.0
//
// Cross-entropy (cross_entropy.cu, whose arguments and results these are) of wide rows that stay in shared memory, those of a
// block or of a cluster: read once, and gone through twice with grad=yes.
//
//   row r + 2 …   on its way: each warp has a piece of the row, which a bulk copy brings to where the warp alone reads it
//   row r + 1     added up; what warps know of it leaves
//   row r         whose sums have come: its gradient, and its room is free for row r + stages
//
// So a warp waits for memory and for others' sums of the row before, never for a barrier. Copies by the warps' own loads
// would fill the queue in front of shared memory and stores. Loops are short and hold no row in registers. A sum is relative
// to one of the elements that a thread has, the largest of its first vector unless a later one is greater by far.

#include "cross_entropy/cross_entropy.cu"
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/store_whole.cuh"
#include "device/row/warps_talk.cuh"

namespace cross_entropy {

// The largest of a vector's elements; NaN counts only where there is nothing else.
template <int kVec, class T>
__device__ __forceinline__ float largest(const Packed<T, kVec>& packed) {
  const Vector<T, kVec> vector = unpack(packed);
  if constexpr (is_same<T, __nv_bfloat16> || is_same<T, __half>) {
    auto pair = [&](int k) {
      if constexpr (is_same<T, __half>) {
        return __halves2half2(vector[k], vector[k + 1]);
      } else {
        return __halves2bfloat162(vector[k], vector[k + 1]);
      }
    };
    auto all = pair(0);
#pragma unroll
    for (int k = 2; k < kVec; k += 2) all = __hmax2(all, pair(k));
    return fmaxf(to_float(all.x), to_float(all.y));
  } else {
    float all = vector[0];
#pragma unroll
    for (int k = 1; k < kVec; ++k) all = fmaxf(all, vector[k]);
    return all;
  }
}

template <class T>
struct MergedSums : Sums<T> {
  using Partial = typename Sums<T>::Partial;

  // Of all of kSlots partials in shared memory, a power of two: the largest maximum first, then one rescaling each.
  template <int kSlots>
  __device__ static __forceinline__ Partial over_slots(const Partial* slots) {
    constexpr int kLanes = kSlots < kWarpSize ? kSlots : kWarpSize, kEach = kSlots / kLanes;
    const Partial* const from = slots + threadIdx.x % kLanes;
    float max = -kInfinity;
#pragma unroll
    for (int i = 0; i < kEach; ++i) max = fmaxf(max, from[i * kLanes].max);
    max = reduce_lanes<kLanes>(max, Max{});
    float sum = 0.0f, total = 0.0f, target = 0.0f;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const Partial each = from[i * kLanes];
      float factor[1] = {each.max};
      row::Exponentials<T>::exponentials(factor, max);
      sum = fmaf(each.sum, factor[0], sum);
      total += each.total;
      target += each.target;
    }
    return {max, reduce_lanes<kLanes>(sum, Sum{}), reduce_lanes<kLanes>(total, Sum{}),
            reduce_lanes<kLanes>(target, Sum{})};
  }
};

// Config: num_warps, vec, ragged, cluster, blocks, stages, unroll. Of a ragged row, thread t has edge t, too. Shared memory:
// what warps tell each other, round_up(64 · partials + 32 + 8 · stages · num_warps, 128), then `stages` times a block's pieces.
template <class Config>
__device__ __forceinline__ void flow(const Op<Config>& op, i64 rows) {
  using T = typename Config::dtype;
  using Partial = typename Op<Config>::Partial;
  using Exponentials = typename Sums<T>::Exponentials;
  constexpr int kVec = Config::vec, kCluster = Config::cluster, kStages = Config::stages, kUnroll = Config::unroll;
  constexpr bool kRagged = Config::ragged != 0;
  constexpr int kWarps = Config::num_warps, kOfBlock = kWarps * kWarpSize;
  using RowSpan = row::Span<kVec, kRagged, int>;
  using Talk = row::WarpsTalk<MergedSums<T>, kWarps, kCluster>;
  struct Header {
    typename Talk::Storage talk;
    u64 full[kStages][kWarps];
  };
  constexpr int kHeader = round_up<int>(static_cast<int>(sizeof(Header)), 128);
  static_assert(kVec * sizeof(T) == 16, "a vector has 16 bytes");
  static_assert(RowSpan::kMaxEdges <= kOfBlock, "a thread has one edge");
  static_assert(kStages >= 3, "a row that is written, one that is added up, and one or more under way");
  static_assert((kWarps & (kWarps - 1)) == 0, "partials are a power of two");
  static_assert(sizeof(Header) == 64 * kWarps * kCluster + 32 + 8 * kStages * kWarps, "as the definition has it");

  const i64 part = blockIdx.x / u32{kCluster}, step = gridDim.x / u32{kCluster};
  const int rank = kCluster > 1 ? static_cast<int>(ptx::cluster_rank()) : 0;
  const int thread = rank * kOfBlock + static_cast<int>(threadIdx.x);
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize, lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int width = static_cast<int>(op.vocab);
  u8* const shared = shared_storage<u8>();
  if (kRagged && !in_step(op)) {
    int parity = 0;
    for (i64 r = part; rank == 0 && r < rows; r += step, parity ^= 1) {
      reread_row<Config, 1>(op, NoVectors{}, r, reinterpret_cast<Partial*>(shared) + parity * Config::num_warps);
    }
    return;
  }
  auto& header = *reinterpret_cast<Header*>(shared);
  Talk talk(header.talk);
  if (threadIdx.x == 0) {
    talk.init();
#pragma unroll 1
    for (int i = 0; i < kStages * kWarps; ++i) ptx::mbarrier_init(&header.full[0][0] + i, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  talk.prepare();

  struct Coming {
    i64 target;
    float dloss;
    T edge;
  };
  // A row is lines of a vector a lane. The warps of the cluster have equally many, but for one.
  const int lines = ceil_div<int>(width / kVec, kWarpSize);
  const auto line_of = [&](int its_warp) {
    return static_cast<int>(static_cast<i64>(its_warp) * lines / (kWarps * kCluster));
  };
  const int first_line = line_of(rank * kWarps + warp), own_lines = line_of(rank * kWarps + warp + 1) - first_line;
  const int first = first_line * kWarpSize;  // the warp's first vector
  const int of_stage = ceil_div<int>(lines, kCluster) * kWarpSize;
  auto* const pieces =
      reinterpret_cast<Packed<T, kVec>*>(shared + kHeader) + (first_line - line_of(rank * kWarps)) * kWarpSize;
  const auto span_of = [&](i64 r) { return RowSpan(op.logits.row(r), width); };
  // Of the warp's vectors of a row those that there are.
  const auto present = [&](const RowSpan& span) { return max(min(span.vectors() - first, own_lines * kWarpSize), 0); };
  const auto copy = [&](i64 r, int stage) {
    if (lane != 0 || r >= rows) return;
    const RowSpan span = span_of(r);
    const u32 bytes = static_cast<u32>(present(span)) * 16;
    ptx::mbarrier_arrive_expect_tx(&header.full[stage][warp], bytes);
    if (bytes != 0) {
      ptx::bulk_load(pieces + stage * of_stage, op.logits.row(r) + span.column(first), bytes,
                     &header.full[stage][warp]);
    }
  };
  const auto know = [&](i64 r, Coming& coming) {
    if (r >= rows) return;
    const RowSpan span = span_of(r);
    if (kRagged && thread < span.edges()) coming.edge = op.logits.row(r)[span.edge_column(thread)];
    coming.target = op.targets[r];
    if constexpr (Op<Config>::kGradient) coming.dloss = op.dloss[r];
  };
  // The thread's place of a column, in shared memory; null where another one has it, or an edge.
  const auto own_place = [&](const RowSpan& span, int stage, i64 column) -> const T* {
    const i64 behind = column - span.column(first);
    if (behind < 0 || behind >= i64{present(span)} * kVec) return nullptr;
    if (static_cast<int>(behind) / kVec % kWarpSize != lane) return nullptr;
    return reinterpret_cast<const T*>(pieces + stage * of_stage) + static_cast<int>(behind);
  };
  // Calls use(vector, i) for all of the thread's, the warp's vectors i.
  const auto for_vectors = [&](const RowSpan& span, int stage, const auto& use) {
    const Packed<T, kVec>* const from = pieces + stage * of_stage;
    const int count = present(span);
    int i = lane;
#pragma unroll 1
    for (; i + (kUnroll - 1) * kWarpSize < count; i += kUnroll * kWarpSize) {
      Packed<T, kVec> loaded[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) loaded[u] = from[i + u * kWarpSize];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) use(loaded[u], i + u * kWarpSize);
    }
    if constexpr (kUnroll > 1) {
#pragma unroll 1
      for (; i < count; i += kWarpSize) use(from[i], i);
    }
  };

  const auto send = [&](i64 r, int stage, const Coming& row, i64 turn) {
    const RowSpan span = span_of(r);
    Partial mine = Sums<T>::nothing();
    float sums[4] = {}, totals[2] = {};
    for_vectors(span, stage, [&](const Packed<T, kVec>& packed, int) {
      constexpr float kFar = 64.0f;
      const float most = largest<kVec>(packed);
      if (!(most <= mine.max + kFar)) {
        const float factor = Exponentials::rescaling(mine.max, most);
#pragma unroll
        for (int k = 0; k < 4; ++k) sums[k] *= factor;
        mine.max = most;
      }
      float values[kVec];
      to_float(packed, values);
#pragma unroll
      for (int k = 0; k < kVec; ++k) totals[k % 2] += values[k];
      Exponentials::exponentials(values, mine.max);
#pragma unroll
      for (int k = 0; k < kVec; ++k) sums[k % 4] += values[k];
    });
    mine.sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    mine.total = totals[0] + totals[1];
    const bool has_edge = kRagged && thread < span.edges();
    if (has_edge) {
      float values[1] = {to_float(row.edge)};
      Sums<T>::add(mine, values);
      if (span.edge_column(thread) == row.target) mine.target = to_float(row.edge);
    }
    const T* const target = own_place(span, stage, row.target);
    if (target != nullptr) mine.target = to_float(*target);
    talk.send(Sums<T>::template over_lanes<kWarpSize>(mine), turn);
  };
  const auto write = [&](i64 r, int stage, const Coming& row, const Partial& whole) {
    const RowSpan span = span_of(r);
    const typename Op<Config>::Known known{row.target, 0.0f, row.dloss};
    const auto scale = op.scale_of(known, whole);
    T* const out = op.dlogits.row(r) + span.column(first);
    const auto store = [&](int i, const float(&values)[kVec]) {
      ptx::store_whole(reinterpret_cast<Word<16>*>(out + i * kVec), pack(from_float<T>(values)).words[0]);
    };
    if (scale.ignored) {
      const float zeros[kVec] = {};
#pragma unroll 1
      for (int i = lane; i < present(span); i += kWarpSize) store(i, zeros);
    } else {
      for_vectors(span, stage, [&](const Packed<T, kVec>& packed, int i) {
        float values[kVec];
        to_float(packed, values);
        Exponentials::exponentials(values, scale.max);
#pragma unroll
        for (int k = 0; k < kVec; ++k) values[k] = fmaf(values[k], scale.scale, -scale.rest);
        store(i, values);
      });
      // The target's column once more.
      const T* const target = own_place(span, stage, scale.target);
      if (target != nullptr) {
        float value[1] = {to_float(*target)};
        Exponentials::exponentials(value, scale.max);
        op.dlogits.row(r)[scale.target] = from_float<T>(fmaf(value[0], scale.scale, -scale.rest) - scale.hit);
      }
    }
    if (kRagged && thread < span.edges()) {
      const Vector<T, 1> one{{row.edge}};
      op.template write_gradient<1>(pack(one), scale, r, span.edge_column(thread));
    }
  };

#pragma unroll 1
  for (int stage = 0; stage < kStages; ++stage) copy(part + stage * step, stage);
  Coming now{}, next{}, after{};
  know(part, next);
  know(part + step, after);
  // Row r is `now`; that of turn −1 is none.
  int stage = kStages - 1;
  i64 turn = -1;
  u32 phase = 0;  // of the stage of row r + step
  for (i64 r = part - step; r < rows; r += step, ++turn) {
    const int next_stage = stage + 1 == kStages ? 0 : stage + 1;
    if (r + step < rows) {
      ptx::mbarrier_wait(&header.full[next_stage][warp], phase);
      send(r + step, next_stage, next, turn + 1);
    }
    if (turn >= 0) {
      const Partial whole = talk.receive(turn);
      if (thread == 0) op.write_loss(r, now.target, whole);
      if constexpr (Op<Config>::kGradient) write(r, stage, now, whole);
      __syncwarp();
      copy(r + kStages * step, stage);
    }
    now = next;
    next = after;
    know(r + 3 * step, after);
    stage = next_stage;
    if (stage == kStages - 1) phase ^= 1;
  }
}

}  // namespace cross_entropy

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::blocks)
    cross_entropy_flow(long long rows, long long vocab, const typename Config::dtype* logits, const long long* target,
                       const float* dloss, float* loss, float* lse, typename Config::dtype* dlogits, float smoothing,
                       long long ignore, long long logits_pitch, long long dlogits_pitch) {
  cross_entropy::flow<Config>(
      op_of<Config>(vocab, logits, target, dloss, loss, lse, dlogits, smoothing, ignore, logits_pitch, dlogits_pitch),
      rows);
}
