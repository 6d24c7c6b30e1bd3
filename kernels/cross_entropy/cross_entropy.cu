// SPDX-License-Identifier: Apache-2.0
//
// Cross-entropy of rows of logits x with one target t each; with grad=yes also its gradient, in the same kernel:
//
//   lse[r]  = log Σ over c of e^x[r][c]
//   loss[r] = lse[r] − (1 − s) · x[r][t] − s / vocab · Σ over c of x[r][c]                        s: label smoothing
//   dlogits[r][c] = dloss[r] · (e^(x[r][c] − lse[r]) − (1 − s) · [c = t] − s / vocab)
//
//   logits, dlogits   rows × vocab with row pitches; dlogits may be logits itself, with the same pitch; any addresses
//   target            rows; for `ignore`, loss and gradient are 0; for any other value that is no column, they are NaN
//
// Two ways, both in fp32; sm_80 and later, clusters sm_90:
//
//   resident   a row of a block or a cluster stays in registers as it was loaded: with grad=yes it is read once. The
//              next row travels to shared memory meanwhile; a thread copies the elements that it will hold
//   reread     a block per row, which it reads once for the loss and again for the gradient
//
// The target's logit goes with a row's partial sums, so it is known before anything may be written over it.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/math.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/ptx/fence.cuh"
#include "device/row/exchange.cuh"
#include "device/row/exponentials.cuh"
#include "device/row/span.cuh"
#include "device/row/statistics.cuh"
#include "device/row/tensors.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"

namespace cross_entropy {

using namespace tilewright;

// A row's statistics (device/row/statistics.cuh).
template <class T>
struct Sums {
  using Exponentials = row::Exponentials<T>;
  struct alignas(8) Partial {
    float max;
    float sum;     // Σ e^(x − max)
    float total;   // Σ x
    float target;  // x[t], in the one thread that has it
  };

  __device__ static __forceinline__ Partial nothing() { return {-kInfinity, 0.0f, 0.0f, 0.0f}; }

  template <int kCount>
  __device__ static __forceinline__ void add(Partial& partial, float (&values)[kCount]) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) partial.total += values[k];
    typename Exponentials::Partial exponentials{partial.max, partial.sum};
    Exponentials::add(exponentials, values, 0);
    partial.max = exponentials.max;
    partial.sum = exponentials.sum;
  }

  template <int kLanes>
  __device__ static __forceinline__ Partial over_lanes(const Partial& partial) {
    const auto all = Exponentials::template over_lanes<kLanes>({partial.max, partial.sum});
    return {all.max, all.sum, reduce_lanes<kLanes>(partial.total, Sum{}), reduce_lanes<kLanes>(partial.target, Sum{})};
  }
};

template <class Config>
struct Op {
  using T = typename Config::dtype;
  using Partial = typename Sums<T>::Partial;
  static constexpr bool kGradient = Config::grad == "yes";

  row::Matrix<const T> logits;
  const long long* targets;
  const float* dloss;
  float* loss;
  float* lse;
  row::Matrix<T> dlogits;
  float smoothing;
  i64 ignore;
  i64 vocab;

  // A row's data beside its elements; only the first thread has the target's logit.
  struct Known {
    i64 target;
    float logit;
    float dloss;
  };
  __device__ __forceinline__ Known know(i64 r, bool is_first) const {
    Known known{targets[r], 0.0f, kGradient ? dloss[r] : 0.0f};
    if (is_first && known.target >= 0 && known.target < vocab) known.logit = to_float(logits.row(r)[known.target]);
    return known;
  }
  __device__ static __forceinline__ Partial first_partial(const Known& known) {
    Partial partial = Sums<T>::nothing();
    partial.target = known.logit;
    return partial;
  }

  __device__ __forceinline__ void write_loss(i64 r, i64 target, const Partial& row) const {
    // Logits that have a large mean cancel before the logarithm is added.
    const float log_sum = logf(row.sum);
    float its_loss = fmaf(1.0f - smoothing, row.max - row.target, log_sum);
    if (smoothing != 0.0f) its_loss = fmaf(smoothing, row.max - row.total / static_cast<float>(vocab), its_loss);
    if (target < 0 || target >= vocab) its_loss = target == ignore ? 0.0f : __builtin_bit_cast(float, 0x7fffffffu);
    lse[r] = row.max + log_sum;
    loss[r] = target == ignore ? 0.0f : its_loss;
  }

  // The values that a row's gradients share: dlogits = e^(x − max) · scale − rest, minus hit in the target's column.
  struct Scale {
    i64 target;
    float max, scale, rest, hit;
    bool ignored;
  };
  __device__ __forceinline__ Scale scale_of(const Known& known, const Partial& row) const {
    const i64 target = known.target;
    float gradient = known.dloss;
    if (target < 0 || target >= vocab) gradient = __builtin_bit_cast(float, 0x7fffffffu);
    return {target,
            row.max,
            gradient / row.sum,
            gradient * (smoothing / static_cast<float>(vocab)),
            gradient * (1.0f - smoothing),
            target == ignore};
  }

  template <int kVec>
  __device__ __forceinline__ void write_gradient(const Packed<T, kVec>& logits_there, const Scale& scale, i64 r,
                                                 i64 column) const {
    float values[kVec];
    to_float(logits_there, values);
    Sums<T>::Exponentials::exponentials(values, scale.max);
#pragma unroll
    for (int j = 0; j < kVec; ++j) values[j] = fmaf(values[j], scale.scale, -scale.rest);
    if (static_cast<u64>(scale.target - column) < kVec) {
#pragma unroll
      for (int j = 0; j < kVec; ++j) values[j] -= scale.target - column == j ? scale.hit : 0.0f;
    }
#pragma unroll
    for (int j = 0; j < kVec; ++j) values[j] = scale.ignored ? 0.0f : values[j];
    store_vector(dlogits.row(r) + column, from_float<T>(values));
  }
};

// A row without vectors, for logits and gradients that are aligned differently.
struct NoVectors {
  __device__ __forceinline__ i64 vectors() const { return 0; }
  __device__ __forceinline__ i64 column(i64) const { return 0; }
  __device__ __forceinline__ i64 edge_column(i64 e) const { return e; }
};

template <class Config>
__device__ __forceinline__ bool in_step(const Op<Config>& op) {
  constexpr int kVec = Config::vec;
  return !Op<Config>::kGradient || (phase_of<kVec>(op.logits.base) == phase_of<kVec>(op.dlogits.base) &&
                                    (op.logits.pitch - op.dlogits.pitch) % kVec == 0);
}

// Processes a row by all threads of a block. `slots` are num_warps partials, other than the previous row's.
template <class Config, int kUnroll, class RowSpan>
__device__ __forceinline__ void reread_row(const Op<Config>& op, const RowSpan& span, i64 r,
                                           typename Op<Config>::Partial* slots) {
  using T = typename Config::dtype;
  constexpr int kVec = Config::vec;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  const T* const row = op.logits.row(r);
  const auto for_vectors = [&](const auto& use) {
    for (i64 first = threadIdx.x; first < span.vectors(); first += kThreads * kUnroll) {
      Packed<T, kVec> loaded[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const i64 i = first + u * kThreads;
        if (i < span.vectors()) loaded[u] = load_packed<kVec>(row + span.column(i));
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const i64 i = first + u * kThreads;
        if (i < span.vectors()) use(loaded[u], span.column(i));
      }
    }
  };
  const auto for_edges = [&](const auto& use) {
#pragma unroll 1
    for (i64 e = threadIdx.x; e < op.vocab - span.vectors() * kVec; e += kThreads) {
      use(load_packed<1>(row + span.edge_column(e)), span.edge_column(e));
    }
  };
  const auto known = op.know(r, threadIdx.x == 0);
  auto mine = op.first_partial(known);
  for_vectors([&](const Packed<T, kVec>& loaded, i64) {
    float values[kVec];
    to_float(loaded, values);
    Sums<T>::add(mine, values);
  });
  for_edges([&](const Packed<T, 1>& loaded, i64) {
    float values[1];
    to_float(loaded, values);
    Sums<T>::add(mine, values);
  });
  const auto warp = Sums<T>::template over_lanes<kWarpSize>(mine);
  const auto whole =
      row::merge_warps<Sums<T>, Config::num_warps>(warp, slots, static_cast<int>(threadIdx.x) / kWarpSize);
  if (threadIdx.x == 0) op.write_loss(r, known.target, whole);
  if constexpr (Op<Config>::kGradient) {
    const auto scale = op.scale_of(known, whole);
    for_vectors(
        [&](const Packed<T, kVec>& loaded, i64 column) { op.template write_gradient<kVec>(loaded, scale, r, column); });
    for_edges([&](const Packed<T, 1>& loaded, i64 column) { op.template write_gradient<1>(loaded, scale, r, column); });
  }
}

// Config: num_warps, vec, ragged, unroll. Shared memory: 2 × num_warps partials.
template <class Config>
__device__ __forceinline__ void reread(const Op<Config>& op, i64 rows) {
  constexpr bool kRagged = Config::ragged != 0;
  const bool slow = kRagged && !in_step(op);
  int parity = 0;
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x, parity ^= 1) {
    auto* const slots = shared_storage<typename Op<Config>::Partial>() + parity * Config::num_warps;
    if (slow) {
      reread_row<Config, 1>(op, NoVectors{}, r, slots);
    } else {
      using RowSpan = row::Span<Config::vec, kRagged, i64>;
      reread_row<Config, Config::unroll>(op, RowSpan(op.logits.row(r), op.vocab), r, slots);
    }
  }
}

// Config: num_warps, vec, chunks, ragged, cluster, blocks, ahead; static_dims with vocab. Thread t of a row has its
// vectors t, t + threads, … (`chunks` of them), and edge t of a ragged row. With ahead=0 it holds them while the next
// row arrives. With ahead=1 a row's sums are sent before the previous row's are received, its elements are read from
// shared memory twice, and two more rows are in flight. Shared memory: the exchange of warps and blocks, round_up(64 ·
// (num_warps + cluster) + 32, 128), then for each row a slot for each of a thread's vectors.
template <class Config>
__device__ __forceinline__ void resident(const Op<Config>& op, i64 rows) {
  using T = typename Config::dtype;
  using Partial = typename Op<Config>::Partial;
  constexpr int kVec = Config::vec, kCluster = Config::cluster, kChunks = Config::chunks;
  constexpr bool kRagged = Config::ragged != 0;
  constexpr int kOfBlock = Config::num_warps * kWarpSize, kThreads = kOfBlock * kCluster;
  constexpr int kHeader = round_up<int>(64 * (Config::num_warps + kCluster) + 32, 128);
  using RowSpan = row::Span<kVec, kRagged, int>;
  using RowExchange = row::Exchange<Sums<T>, Config::num_warps, kCluster, 4>;
  static_assert(kVec * sizeof(T) == 16, "a vector has 16 bytes");
  static_assert(kChunks * kVec * sizeof(T) <= 256, "more than a thread's registers hold");
  static_assert(RowSpan::kMaxEdges <= kThreads, "a thread has one edge");
  static_assert(sizeof(typename RowExchange::Storage) <= kHeader, "partials fit in front of the vectors");

  const i64 part = blockIdx.x / u32{kCluster}, step = gridDim.x / u32{kCluster};
  const int rank = kCluster > 1 ? static_cast<int>(ptx::cluster_rank()) : 0;
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
  RowExchange exchange(*reinterpret_cast<typename RowExchange::Storage*>(shared));
  if constexpr (kCluster > 1) {
    if (threadIdx.x == 0) {
      exchange.init();
      ptx::fence_mbarrier_init();
    }
    __syncthreads();
    exchange.prepare();
  }

  // All copies of a row are in flight before the first use. Targets and edges arrive with them.
  constexpr bool kAhead = Config::ahead != 0;
  constexpr int kStages = kAhead ? 3 : 1;
  struct Coming {
    typename Op<Config>::Known known;
    T edge;
  };
  using Held = Packed<T, kVec>[kChunks];
  auto* const slots = reinterpret_cast<Packed<T, kVec>*>(shared + kHeader) + threadIdx.x;
  const auto copy = [&](i64 r, int stage, Coming& coming) {
    if (r < rows) {
      const T* const row = op.logits.row(r);
      const RowSpan span(row, width);
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        const int i = chunk * kThreads + thread;
        if (i < span.vectors()) ptx::cp_async<16>(slots + (stage * kChunks + chunk) * kOfBlock, row + span.column(i));
      }
      if (kRagged && thread < span.edges()) coming.edge = row[span.edge_column(thread)];
    }
    ptx::cp_async_commit();
  };
  const auto know = [&](i64 r, Coming& coming) {
    if (r < rows) coming.known = op.know(r, thread == 0);
  };
  const auto fetch = [&](i64 r, int stage, Coming& coming) {
    copy(r, stage, coming);
    know(r, coming);
  };
  const auto span_of = [&](i64 r) { return RowSpan(op.logits.row(r), width); };
  const auto take = [&](const RowSpan& span, int stage, Held& held) {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      if (chunk * kThreads + thread < span.vectors()) held[chunk] = slots[(stage * kChunks + chunk) * kOfBlock];
    }
  };
  const auto sums_of = [&](const RowSpan& span, const Held& held, const Coming& row) {
    auto mine = op.first_partial(row.known);
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      if (chunk * kThreads + thread >= span.vectors()) continue;
      float values[kVec];
      to_float(held[chunk], values);
      Sums<T>::add(mine, values);
    }
    if (kRagged && thread < span.edges()) {
      float values[1] = {to_float(row.edge)};
      Sums<T>::add(mine, values);
    }
    return Sums<T>::template over_lanes<kWarpSize>(mine);
  };
  const auto write = [&](i64 r, const RowSpan& span, const Held& held, const Coming& row, const Partial& whole) {
    const auto scale = op.scale_of(row.known, whole);
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const int i = chunk * kThreads + thread;
      if (i < span.vectors()) op.template write_gradient<kVec>(held[chunk], scale, r, span.column(i));
    }
    if (kRagged && thread < span.edges()) {
      const Vector<T, 1> one{{row.edge}};
      op.template write_gradient<1>(pack(one), scale, r, span.edge_column(thread));
    }
  };

  i64 turn = 0;
  if constexpr (kAhead) {
    Coming now{}, next{}, after{};
    fetch(part, 0, now);
    fetch(part + step, 1, next);
    fetch(part + 2 * step, 2, after);
    const auto send = [&](i64 r, int stage, const Coming& row, i64 its_turn) {
      const RowSpan span = span_of(r);
      Held held;
      take(span, stage, held);
      exchange.send(sums_of(span, held, row), its_turn);
    };
    int stage = 0;
    ptx::cp_async_wait<2>();
    if (part < rows) send(part, 0, now, 0);
    for (i64 r = part; r < rows; r += step, ++turn) {
      const int next_stage = stage + 1 == kStages ? 0 : stage + 1;
      ptx::cp_async_wait<1>();
      if (r + step < rows) send(r + step, next_stage, next, turn + 1);
      const Partial whole = exchange.receive(turn);
      if (thread == 0) op.write_loss(r, now.known.target, whole);
      if constexpr (Op<Config>::kGradient) {
        const RowSpan span = span_of(r);
        Held held;
        take(span, stage, held);
        write(r, span, held, now, whole);
      }
      now = next;
      next = after;
      fetch(r + kStages * step, stage, after);
      stage = next_stage;
    }
  } else {
    Coming coming{};
    fetch(part, 0, coming);
    for (i64 r = part; r < rows; r += step, ++turn) {
      const Coming now = coming;
      const RowSpan span = span_of(r);
      Held held;
      ptx::cp_async_wait<0>();
      // The next row arrives while this one is summed. Its target's logit waits for its target; both arrive during the
      // exchange.
      take(span, 0, held);
      copy(r + step, 0, coming);
      exchange.send(sums_of(span, held, now), turn);
      know(r + step, coming);
      const Partial whole = exchange.receive(turn);
      if (thread == 0) op.write_loss(r, now.known.target, whole);
      if constexpr (Op<Config>::kGradient) write(r, span, held, now, whole);
    }
  }
}

}  // namespace cross_entropy

template <class Config>
__device__ __forceinline__ cross_entropy::Op<Config> op_of(long long vocab, const typename Config::dtype* logits,
                                                           const long long* target, const float* dloss, float* loss,
                                                           float* lse, typename Config::dtype* dlogits, float smoothing,
                                                           long long ignore, long long logits_pitch,
                                                           long long dlogits_pitch) {
  const long long width = Config::vocab ? Config::vocab : vocab;
  constexpr bool kStrided = Config::pitch == "strided";
  return {{logits, kStrided ? logits_pitch : width},   target,    dloss,  loss, lse,
          {dlogits, kStrided ? dlogits_pitch : width}, smoothing, ignore, width};
}

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    cross_entropy_reread(long long rows, long long vocab, const typename Config::dtype* logits, const long long* target,
                         const float* dloss, float* loss, float* lse, typename Config::dtype* dlogits, float smoothing,
                         long long ignore, long long logits_pitch, long long dlogits_pitch) {
  cross_entropy::reread<Config>(
      op_of<Config>(vocab, logits, target, dloss, loss, lse, dlogits, smoothing, ignore, logits_pitch, dlogits_pitch),
      rows);
}

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::blocks)
    cross_entropy_resident(long long rows, long long vocab, const typename Config::dtype* logits,
                           const long long* target, const float* dloss, float* loss, float* lse,
                           typename Config::dtype* dlogits, float smoothing, long long ignore, long long logits_pitch,
                           long long dlogits_pitch) {
  cross_entropy::resident<Config>(
      op_of<Config>(vocab, logits, target, dloss, loss, lse, dlogits, smoothing, ignore, logits_pitch, dlogits_pitch),
      rows);
}

// The reference, in fp64: a warp per row.
template <class Config>
__global__ void cross_entropy_reference(const typename Config::dtype* logits, const long long* target,
                                        const float* dloss, double* loss, double* lse, double* dlogits, float smoothing,
                                        long long ignore, long long logits_pitch, long long dlogits_pitch,
                                        long long rows, long long vocab) {
  using namespace tilewright;
  constexpr bool kStrided = Config::pitch == "strided";
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = i64{gridDim.x} * (blockDim.x / kWarpSize);
  const i64 warp = i64{blockIdx.x} * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
  const double s = smoothing, count = static_cast<double>(vocab);
  for (i64 r = warp; r < rows; r += warps) {
    const auto* const row = logits + r * (kStrided ? logits_pitch : vocab);
    float most = -kInfinity;
    for (i64 c = lane; c < vocab; c += kWarpSize) most = fmaxf(most, to_float(row[c]));
    const double max = reduce_lanes<kWarpSize>(most, Max{});
    double sum = 0.0, total = 0.0;
    for (i64 c = lane; c < vocab; c += kWarpSize) {
      sum += exp(double{to_float(row[c])} - max);
      total += double{to_float(row[c])};
    }
    sum = reduce_lanes<kWarpSize>(sum, Sum{});
    total = reduce_lanes<kWarpSize>(total, Sum{});
    const i64 t = target[r];
    const bool ignored = t == ignore;
    if (lane == 0) {
      lse[r] = max + log(sum);
      loss[r] = ignored ? 0.0 : max + log(sum) - (1.0 - s) * double{to_float(row[t])} - s / count * total;
    }
    if constexpr (Config::grad == "yes") {
      for (i64 c = lane; c < vocab; c += kWarpSize) {
        const double gradient = exp(double{to_float(row[c])} - max) / sum - (c == t ? 1.0 - s : 0.0) - s / count;
        dlogits[r * (kStrided ? dlogits_pitch : vocab) + c] = ignored ? 0.0 : double{dloss[r]} * gradient;
      }
    }
  }
}
