// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of a row op whose rows live in shared memory: asynchronous copies fill it, two passes read it. Registers
// hold next to nothing, so many bytes are in flight on each SM.
//
//   Config    num_warps, vec (16 bytes), unroll, ragged, bulk, stages; cluster if rows are split; static_dims with cols
//   bulk      1: one thread starts bulk copies (sm_90); 0: each thread copies what it reads, by cp.async (sm_80)
//   stages    1: a block per row. 3 or more: resident blocks take rows through a ring of stages, and keep the tensors
//             along the columns in shared memory too
//   cluster   a row is split over `cluster` blocks, which exchange their statistics (sm_90)
//   shared    | Header … 2048 | stage 0: input 0, input 1 … | stage 1 … | columns      each part padded to 128 bytes
//
// Tensors whose rows are aligned differently go by elements (by_elements.cuh).

#include "device/config.cuh"
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/row/by_elements.cuh"
#include "device/row/exchange.cuh"
#include "device/row/passes.cuh"
#include "device/row/results.cuh"
#include "device/row/span.cuh"
#include "device/row/statistics.cuh"
#include "device/row/tensors.cuh"
#include "device/shared.cuh"

namespace tilewright::row {

template <class Config>
__device__ constexpr int cluster_of() {
  if constexpr (requires { Config::cluster; }) {
    return Config::cluster;
  } else {
    return 1;
  }
}

template <class Config, class Op>
class Staged {
 public:
  __device__ __forceinline__ Staged(const Op& op, i64 rows, i64 cols)
      : op_(op),
        rows_(rows),
        width_(static_cast<int>(Config::cols ? Config::cols : cols)),
        thread_(static_cast<int>(threadIdx.x)),
        rank_(kCluster > 1 ? static_cast<int>(ptx::cluster_rank()) : 0),
        each_(ceil_div<int>(width_ / kVec, kCluster)),
        storage_(shared_storage<unsigned char>()),
        header_(*reinterpret_cast<Header*>(storage_)),
        exchange_(header_.exchange) {}

  __device__ __forceinline__ void run() {
    const i64 first = blockIdx.x / kCluster;
    const i64 step = gridDim.x / kCluster;
    if (kRagged && !in_step<kVec>(op_)) {
      for (i64 r = first; r < rows_ && rank_ == 0; r += step) by_elements<Config>(op_, r, 1, rows_, width_);
      return;
    }
    init();
    if constexpr (kStages == 1) {
      one_row(first);
    } else {
      ring(first, step);
    }
  }

 private:
  using T = typename Op::T;
  using Statistics = typename Op::Statistics;
  using Partial = typename Statistics::Partial;
  enum : int {
    kVec = Config::vec,
    kVectorBytes = static_cast<int>(kVec * sizeof(T)),
    kThreads = Config::num_warps * kWarpSize,
    kStages = Config::stages,
    kCluster = cluster_of<Config>(),
    kHeaderBytes = 2048,
    kPartAlignment = 128,
  };
  enum : bool { kRagged = Config::ragged != 0, kBulk = Config::bulk != 0 };
  using RowSpan = SpanOf<Op, kVec, kRagged, int>;
  using RowEdges = Edges<Config, Op, RowSpan>;
  using Results = ResultRow<Op, kVec, kRagged>;
  using RowExchange = Exchange<Statistics, Config::num_warps, kCluster, kStages == 1 ? 1 : 4>;
  struct Header {
    u64 full[kStages];
    typename RowExchange::Storage exchange;
  };
  static_assert(kVectorBytes == 16, "asynchronous copies move whole vectors of 16 bytes");
  static_assert(sizeof(Header) <= kHeaderBytes, "barriers and partials fit in front of the rows");
  static_assert(kStages != 2, "a ring has the row that is written, the row that is read and one or more under way");

  // The inputs of this block's share of a row, in shared memory.
  struct Source {
    const unsigned char* stage;
    int input_bytes;
    int first;
    __device__ __forceinline__ Packed<T, kVec> load(int input, int i) const {
      return load_packed<kVec>(reinterpret_cast<const T*>(stage + input * input_bytes) + (i - first) * kVec);
    }
  };

  // The place of a row, and this block's share of it.
  struct Row {
    RowSpan span;
    Range<int> range;
    Source source;
  };
  __device__ __forceinline__ Row row(i64 r, int stage) const {
    const RowSpan span(op_.tensors.outputs[0].row(r), width_);
    const int begin = min(rank_ * each_, span.vectors());
    const Range<int> range{begin, min(begin + each_, span.vectors())};
    return {span, range, Source{stage_storage(stage), input_bytes(), begin}};
  }

  // Processes one row.
  __device__ __forceinline__ void one_row(i64 r) {
    fetch(r, 0);
    const Row own = row(r, 0);
    const RowEdges edges(op_, r, own.span, rank_ == 0);
    wait(0, 0);
    const Partial mine = known(own, edges);
    exchange_.send(mine, 0);
    const Partial whole = exchange_.receive(0);
    write(r, own, edges, mine, whole, Results(op_, r, own.span.column(0)));
  }

  // Processes the rows first, first + step, … While a row's statistics travel, the next row has its first pass and
  // later rows are in flight.
  __device__ __forceinline__ void ring(i64 first, i64 step) {
    for (int stage = 0; stage < kStages; ++stage) fetch(first + stage * step, stage);
    const Along along(op_, storage_ + kHeaderBytes + kStages * stage_bytes(), rank_ * each_, each_, width_, thread_);
    if (first >= rows_) return;

    Row own = row(first, 0);
    RowEdges edges(op_, first, own.span, rank_ == 0);
    wait(0, 0);
    Partial mine = known(own, edges);
    exchange_.send(mine, 0);
    int stage = 0;
    u32 phase = 0;
    i64 count = 0;
    for (i64 r = first; r < rows_; r += step, ++count) {
      const int next_stage = stage + 1 == kStages ? 0 : stage + 1;
      const u32 next_phase = next_stage == 0 ? phase ^ 1 : phase;
      const bool more = r + step < rows_;
      const Row next = row(more ? r + step : r, next_stage);
      const RowEdges next_edges(op_, more ? r + step : r, next.span, rank_ == 0);
      Partial next_mine = Statistics::nothing();
      if (more) {
        wait(next_stage, next_phase);
        next_mine = known(next, next_edges);
        exchange_.send(next_mine, count + 1);
      }
      const Partial whole = exchange_.receive(count);
      write(r, own, edges, mine, whole, Results(op_, r, own.span.column(0), along.bases));
      __syncthreads();
      fetch(r + kStages * step, stage);
      own = next;
      edges = next_edges;
      mine = next_mine;
      stage = next_stage;
      phase = next_phase;
    }
  }

  // The tensors along the columns, for the block's vectors and the two behind, into which ragged rows reach.
  struct Along {
    const T* bases[at_least_one(Op::kColumns)];  // indexed by columns of the whole tensor

    __device__ __forceinline__ Along(const Op& op, unsigned char* storage, int first_vector, int vectors, int cols,
                                     int thread) {
      const int begin = first_vector * kVec;
      const int count = (vectors + 2) * kVec;
#pragma unroll
      for (int c = 0; c < Op::kColumns; ++c) {
        T* const kept = reinterpret_cast<T*>(storage) + c * round_up<int>(count, kPartAlignment / sizeof(T));
        for (int i = thread; i < count; i += kThreads) {
          kept[i] = begin + i < cols ? op.tensors.columns[c][begin + i] : from_float<T>(0.0f);
        }
        bases[c] = kept - begin;
      }
      __syncthreads();
    }
  };

  __device__ __forceinline__ int input_bytes() const { return round_up<int>(each_ * kVectorBytes, kPartAlignment); }
  __device__ __forceinline__ int stage_bytes() const { return Op::kInputs * input_bytes(); }
  __device__ __forceinline__ unsigned char* stage_storage(int stage) const {
    return storage_ + kHeaderBytes + stage * stage_bytes();
  }

  // Initialises the barriers and publishes them to the asynchronous copies and the cluster.
  __device__ __forceinline__ void init() {
    if constexpr (kBulk || kCluster > 1) {
      if (thread_ == 0) {
        for (int stage = 0; stage < kStages; ++stage) ptx::mbarrier_init(&header_.full[stage], 1);
        exchange_.init();
        ptx::fence_mbarrier_init();
      }
      __syncthreads();
      exchange_.prepare();
    }
  }

  // Starts the copies of row `r`, if there is one.
  __device__ __forceinline__ void fetch(i64 r, int stage) {
    if (!kBulk || thread_ == 0) {
      if (r < rows_) start_copies(r, stage);
    }
    if constexpr (!kBulk) ptx::cp_async_commit();
  }

  __device__ __forceinline__ void start_copies(i64 r, int stage) {
    const Row own = row(r, stage);
    const int vectors = own.range.end - own.range.begin;
    const auto bytes = static_cast<u32>(vectors * kVectorBytes);
    if constexpr (kBulk) ptx::mbarrier_arrive_expect_tx(&header_.full[stage], Op::kInputs * bytes);
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) {
      const T* const from = op_.tensors.inputs[input].row(r) + own.span.column(own.range.begin);
      T* const to = reinterpret_cast<T*>(stage_storage(stage) + input * input_bytes());
      if constexpr (kBulk) {
        if (bytes != 0) ptx::bulk_load(to, from, bytes, &header_.full[stage]);
      } else {
        for (int i = thread_; i < vectors; i += kThreads) ptx::cp_async<kVectorBytes>(to + i * kVec, from + i * kVec);
      }
    }
  }

  // Waits for the copies of a stage. With cp.async a thread reads only its own copies.
  __device__ __forceinline__ void wait(int stage, u32 phase) {
    if constexpr (kBulk) {
      ptx::mbarrier_wait(&header_.full[stage], phase);
    } else {
      ptx::cp_async_wait<kStages == 1 ? 0 : kStages - 2>();
    }
  }

  // Pass one: this warp's partial of the row.
  __device__ __forceinline__ Partial known(const Row& own, const RowEdges& edges) const {
    Partial mine = first_pass<Config>(op_, own.range, own.source);
    edges.first_pass(mine);
    return Statistics::template over_lanes<kWarpSize>(mine);
  }

  // Pass two: store the results.
  __device__ __forceinline__ void write(i64 r, const Row& own, const RowEdges& edges, const Partial& mine,
                                        const Partial& whole, const Results& results) const {
    const auto scale = op_.template scale<false>(mine, whole, width_);
    second_pass<Config>(op_, own.range, own.source, results, scale);
    edges.template second_pass<Results>(op_, r, scale, own.span);
  }

  const Op& op_;
  i64 rows_;
  int width_;
  int thread_;
  int rank_;
  int each_;  // vectors of a row per block
  unsigned char* storage_;
  Header& header_;
  RowExchange exchange_;
};

}  // namespace tilewright::row
