// SPDX-License-Identifier: Apache-2.0
//
// The loss of cross_entropy.cu, without a gradient, by blocks that take one row after the other and copy the next row
// while they merge the sums of one. sm_80 and later.
//
//   a row       step 0              step 1              …      a step is `unroll` vectors a thread
//   shared      a ring of `stages` steps; a thread copies what it alone reads: one barrier a row, for its sums
//   edges       of a ragged row (device/row/span.cuh) one per thread, loaded to registers
//
// A row's target is loaded a row ahead, so its logit has the whole row's time to arrive.

#include "cross_entropy/cross_entropy.cu"

namespace cross_entropy {

// Config: num_warps, vec, ragged, unroll, stages, blocks. Shared memory: 2 × num_warps partials, rounded up to 128
// bytes, and the ring.
template <class Config>
class Stream {
  using T = typename Config::dtype;
  using Partial = typename Op<Config>::Partial;
  enum : bool { kRagged = Config::ragged != 0 };
  enum : int {
    kVec = Config::vec,
    kUnroll = Config::unroll,
    kStages = Config::stages,
    kThreads = Config::num_warps * kWarpSize,
    kStep = kThreads * kUnroll,  // vectors
    kHeader = round_up<int>(2 * Config::num_warps * static_cast<int>(sizeof(Partial)), 128),
  };
  using RowSpan = row::Span<kVec, kRagged, int>;
  static_assert(kVec * sizeof(T) == 16, "a vector has 16 bytes");
  static_assert(RowSpan::kMaxEdges <= kThreads, "a thread has one edge");
  static_assert(!Op<Config>::kGradient, "rows do not stay");

 public:
  __device__ __forceinline__ Stream(const Op<Config>& op, i64 rows)
      : op_(op),
        rows_(rows),
        width_(static_cast<int>(op.vocab)),
        steps_(max(ceil_div<int>(width_ / kVec, kStep), 1)),
        thread_(static_cast<int>(threadIdx.x)),
        ring_(reinterpret_cast<Packed<T, kVec>*>(shared_storage<u8>() + kHeader) + threadIdx.x),
        coming_row_(blockIdx.x) {}

  __device__ __forceinline__ void run() {
    enter_row();
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) fetch(stage);
    i64 next_target = blockIdx.x < rows_ ? op_.targets[blockIdx.x] : 0;
    int stage = 0, parity = 0;
    for (i64 r = blockIdx.x; r < rows_; r += gridDim.x, parity ^= 1) {
      const i64 target = next_target;
      if (r + gridDim.x < rows_) next_target = op_.targets[r + gridDim.x];
      const T* const row = op_.logits.row(r);
      const RowSpan span(row, width_);
      T logit = from_float<T>(0.0f), edge = logit;
      if (thread_ == 0 && target >= 0 && target < op_.vocab) logit = row[target];
      if (kRagged && thread_ < span.edges()) edge = row[span.edge_column(thread_)];

      // Sum step by step. Refill a stage as soon as its vectors are in registers.
      Partial mine = Sums<T>::nothing();
      for (int step = 0; step < steps_; ++step) {
        ptx::cp_async_wait<kStages - 1>();
        Packed<T, kVec> taken[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) taken[u] = *slot_of(stage, u);
        fetch(stage);
        if (++stage == kStages) stage = 0;
        add(taken, span.vectors() - step * kStep, mine);
      }
      if (kRagged && thread_ < span.edges()) {
        float values[1] = {to_float(edge)};
        Sums<T>::add(mine, values);
      }
      mine.target = to_float(logit);

      // Merge the warps' sums. The first warp reads them while the others go on: the next row uses other slots.
      auto* const slots = shared_storage<Partial>() + parity * Config::num_warps;
      const Partial warp = Sums<T>::template over_lanes<kWarpSize>(mine);
      if (thread_ % kWarpSize == 0) slots[thread_ / kWarpSize] = warp;
      __syncthreads();
      if (thread_ < kWarpSize) {
        const Partial whole = row::over_slots<Sums<T>, Config::num_warps>(slots);
        if (thread_ == 0) op_.write_loss(r, target, whole);
      }
    }
  }

 private:
  __device__ __forceinline__ Packed<T, kVec>* slot_of(int stage, int u) const {
    return ring_ + (stage * kUnroll + u) * kThreads;
  }

  __device__ __forceinline__ void enter_row() {
    coming_step_ = 0;
    if (coming_row_ >= rows_) return;
    const T* const row = op_.logits.row(coming_row_);
    const RowSpan span(row, width_);
    from_ = row + span.column(thread_);
    left_ = span.vectors() - thread_;
  }

  // Fetches the next step of the block's rows, if there is one.
  __device__ __forceinline__ void fetch(int stage) {
    if (coming_row_ < rows_) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (u * kThreads < left_) ptx::cp_async<16>(slot_of(stage, u), from_ + u * kThreads * kVec);
      }
    }
    ptx::cp_async_commit();
    from_ += kStep * kVec;
    left_ -= kStep;
    if (++coming_step_ == steps_) {
      coming_row_ += gridDim.x;
      enter_row();
    }
  }

  // Adds a step's vectors; the row has `left` vectors from this step on.
  __device__ __forceinline__ void add(const Packed<T, kVec> (&taken)[kUnroll], int left, Partial& mine) const {
    if (left >= kStep) {
      float values[kUnroll * kVec];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        float vector[kVec];
        to_float(taken[u], vector);
#pragma unroll
        for (int j = 0; j < kVec; ++j) values[u * kVec + j] = vector[j];
      }
      Sums<T>::add(mine, values);
    } else {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (u * kThreads + thread_ >= left) continue;
        float values[kVec];
        to_float(taken[u], values);
        Sums<T>::add(mine, values);
      }
    }
  }

  const Op<Config>& op_;
  i64 rows_;
  int width_, steps_, thread_;
  Packed<T, kVec>* ring_;
  // The next fetch: its row, the step in it, the thread's first vector there, and the vectors left from it on.
  i64 coming_row_;
  int coming_step_ = 0, left_ = 0;
  const T* from_ = nullptr;
};

}  // namespace cross_entropy

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::blocks)
    cross_entropy_stream(long long rows, long long vocab, const typename Config::dtype* logits, const long long* target,
                         const float* dloss, float* loss, float* lse, typename Config::dtype* dlogits, float smoothing,
                         long long ignore, long long logits_pitch, long long dlogits_pitch) {
  const auto op =
      op_of<Config>(vocab, logits, target, dloss, loss, lse, dlogits, smoothing, ignore, logits_pitch, dlogits_pitch);
  cross_entropy::Stream<Config>(op, rows).run();
}
