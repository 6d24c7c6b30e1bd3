// SPDX-License-Identifier: Apache-2.0
//
// Cross-entropy (cross_entropy.cu has the ops and arguments) of wide rows in the registers of a cluster, as `cluster`
// has them, but without a block barrier: each warp sends its sums of a row to all others (device/row/warp_talk.cuh). A
// thread finds the largest of its elements first, so its exponentials wait for nothing.
//
//   ahead=0   a cluster has one row; rows of other clusters arrive meanwhile
//   ahead=1   clusters are persistent. The next row travels to shared memory; a thread copies what it will hold
//   ahead=2   the same, but a row's sums are sent before the previous row's are received; two more rows are in flight
//
// With kept=1, for bf16, an element is kept as its exponential relative to the largest of the thread's, in fp16: with
// 11 bits from 2^-29 of that largest on; smaller ones, down to 2^-39, are rounded more coarsely.

#include "cross_entropy/cross_entropy.cu"
#include "device/ptx/fence.cuh"
#include "device/ptx/math.cuh"
#include "device/row/warp_talk.cuh"

namespace tilewright::row {

template <class T>
struct EvenlyOf<cross_entropy::Sums<T>> : cross_entropy::Sums<T> {
  using Partial = typename cross_entropy::Sums<T>::Partial;
  __device__ static __forceinline__ Partial merged(const Partial& a, const Partial& b) {
    const auto exponentials = EvenlyOf<Exponentials<T>>::merged({a.max, a.sum}, {b.max, b.sum});
    return {exponentials.max, exponentials.sum, a.total + b.total, a.target + b.target};
  }
};

}  // namespace tilewright::row

namespace cross_entropy {

// The largest of some vectors' elements; NaN only if there is nothing else.
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

// Calls `use(exponential)` with exponential(x) = 2^kRaised · e^(x − max), as in row::Exponentials. Whether the maximum
// is large is tested once.
template <class T, int kRaised, class Use>
__device__ __forceinline__ void with_exponential(float max, const Use& use) {
  constexpr float kLog2E = 1.4426950408889634f, kLargeMaximum = 1024.0f;
  const float shift = max == -kInfinity ? 0.0f : max;
  constexpr float kRaise = kRaised;
  if constexpr (is_same<T, float>) {
    static_assert(kRaised == 0, "as it is");
    use([&](float x) {
      float values[1] = {x};
      row::Exponentials<T>::exponentials(values, max);
      return values[0];
    });
  } else if (fabsf(shift) <= kLargeMaximum) {
    const float scaled = shift * kLog2E - kRaise;
    use([&](float x) { return ptx::ex2_approx(fmaf(x, kLog2E, -scaled)); });
  } else {
    use([&](float x) { return ptx::ex2_approx(fmaf(x - shift, kLog2E, kRaise)); });
  }
}

// The vectors of a row that a thread of its cluster has: each kThreads-th, at most kChunks. A warp's vectors start on a
// line of 128 bytes if the threads can hold the row so.
template <class Config>
class Places {
  using T = typename Config::dtype;
  enum : int { kVec = Config::vec, kThreads = Config::num_warps * kWarpSize * Config::cluster, kLine = 128 / 16 };
  using RowSpan = row::Span<kVec, Config::ragged != 0, int>;

 public:
  enum : int { kMaxEdges = RowSpan::kMaxEdges };

  __device__ __forceinline__ Places(const T* row, int width, int thread) : span_(row, width), thread_(thread) {
    const int in_line = phase_of<kLine * kVec>(row + span_.column(0)) / kVec;
    const int room = Config::chunks * kThreads - span_.vectors();
    ahead_ = in_line < room ? in_line : room;
  }
  __device__ __forceinline__ bool has(int chunk) const {
    return static_cast<u32>(chunk * kThreads + thread_ - ahead_) < static_cast<u32>(span_.vectors());
  }
  __device__ __forceinline__ int column(int chunk) const { return span_.column(chunk * kThreads + thread_ - ahead_); }
  __device__ __forceinline__ bool has_edge() const { return Config::ragged != 0 && thread_ < span_.edges(); }
  __device__ __forceinline__ int edge_column() const { return span_.edge_column(thread_); }

  // The chunk of this thread with `column`, or −1.
  __device__ __forceinline__ int chunk_of(i64 column) const {
    const u64 in_vectors = static_cast<u64>(column) - static_cast<u64>(span_.column(0));
    if (in_vectors >= static_cast<u64>(span_.vectors()) * kVec) return -1;
    const int vector = static_cast<int>(in_vectors) / kVec + ahead_;
    return vector % kThreads == thread_ ? vector / kThreads : -1;
  }

 private:
  RowSpan span_;
  int thread_, ahead_;
};

// Config: cluster, num_warps, vec, chunks, ragged, ahead, blocks; static_dims with vocab. Shared memory: the exchange
// of warps, round_up(64 · num_warps · cluster + 32, 128), then for each row in flight a slot for each of a thread's
// vectors.
template <class Config>
__device__ __forceinline__ void told(const Op<Config>& op, i64 rows) {
  using T = typename Config::dtype;
  using Partial = typename Op<Config>::Partial;
  using RowPlaces = Places<Config>;
  constexpr int kVec = Config::vec, kCluster = Config::cluster, kChunks = Config::chunks;
  constexpr int kStages = Config::ahead == 2 ? 3 : 1;
  constexpr bool kKept = Config::kept != 0;
  constexpr int kRaised = kKept ? 15 : 0;  // extends fp16's range downwards
  constexpr int kOfBlock = Config::num_warps * kWarpSize;
  constexpr int kHeader = round_up<int>(64 * Config::num_warps * kCluster + 32, 128);
  using Talk = row::WarpTalk<Sums<T>, Config::num_warps, kCluster>;
  static_assert(kCluster > 1, "by clusters");
  static_assert(kVec * sizeof(T) == 16, "a vector has 16 bytes");
  static_assert(!kKept || (is_same<T, __nv_bfloat16> && Config::ahead != 2), "for bf16 whose elements are taken once");
  static_assert(RowPlaces::kMaxEdges <= kOfBlock * kCluster, "a thread has one edge");
  static_assert(sizeof(typename Talk::Storage) <= kHeader, "partials fit in front of the vectors");

  const i64 part = blockIdx.x / u32{kCluster}, step = gridDim.x / u32{kCluster};
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int thread = rank * kOfBlock + static_cast<int>(threadIdx.x);
  const int width = static_cast<int>(Config::vocab ? Config::vocab : op.vocab);
  u8* const shared = shared_storage<u8>();
  if (Config::ragged != 0 && !in_step(op)) {
    int parity = 0;
    for (i64 r = part; rank == 0 && r < rows; r += step, parity ^= 1) {
      reread_row<Config, 1>(op, NoVectors{}, r, reinterpret_cast<Partial*>(shared) + parity * Config::num_warps);
    }
    return;
  }
  Talk talk(*reinterpret_cast<typename Talk::Storage*>(shared));
  const auto meet = [&] {  // after the first loads
    if (threadIdx.x == 0) {
      talk.init();
      ptx::fence_mbarrier_init();
    }
    __syncthreads();
    talk.prepare();
  };

  struct Coming {
    typename Op<Config>::Known known;
    T edge;
  };
  using Held = Packed<T, kVec>[kChunks];
  auto* const slots = reinterpret_cast<Packed<T, kVec>*>(shared + kHeader) + threadIdx.x;
  const auto places_of = [&](i64 r) { return RowPlaces(op.logits.row(r), width, thread); };
  // Stands for vectors that a thread lacks, and adds nothing.
  const auto pad = [] {
    Vector<T, kVec> vector;
#pragma unroll
    for (int k = 0; k < kVec; ++k) vector[k] = from_float<T>(-kInfinity);
    return pack(vector);
  };
  // For a row in flight thread 0 loads the target's logit; else the thread that holds it supplies it.
  const auto know = [&](i64 r, Coming& coming) {
    if (r < rows) coming.known = op.know(r, Config::ahead != 0 && thread == 0);
  };
  const auto copy = [&](i64 r, int stage, Coming& coming) {
    if (r < rows) {
      const RowPlaces places = places_of(r);
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        if (places.has(chunk)) {
          ptx::cp_async<16>(slots + (stage * kChunks + chunk) * kOfBlock, op.logits.row(r) + places.column(chunk));
        }
      }
      if (places.has_edge()) coming.edge = op.logits.row(r)[places.edge_column()];
    }
    ptx::cp_async_commit();
  };
  const auto take = [&](const RowPlaces& places, int stage, Held& held) {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      held[chunk] = pad();
      if (places.has(chunk)) held[chunk] = slots[(stage * kChunks + chunk) * kOfBlock];
    }
  };

  float own_max = 0.0f;  // relative to which kept=1 keeps elements
  const auto sums_of = [&](i64 r, const RowPlaces& places, Held& held, const Coming& row) {
    Partial mine = Op<Config>::first_partial(row.known);
    if (Config::ahead == 0 && places.chunk_of(row.known.target) >= 0) {
      mine.target = to_float(op.logits.row(r)[row.known.target]);
    }
    Largest<T, kVec> most;
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) most.add(held[chunk]);
    mine.max = most.get();
    if (op.smoothing != 0.0f) {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        if (!places.has(chunk)) continue;
        float values[kVec];
        to_float(held[chunk], values);
#pragma unroll
        for (int k = 0; k < kVec; ++k) mine.total += values[k];
      }
    }
    float sums[4] = {};
    with_exponential<T, kRaised>(mine.max, [&](const auto& exponential) {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        float values[kVec];
        to_float(held[chunk], values);
#pragma unroll
        for (int k = 0; k < kVec; ++k) {
          values[k] = exponential(values[k]);
          sums[k % 4] += values[k];
        }
        if constexpr (kKept) held[chunk] = __builtin_bit_cast(Packed<T, kVec>, pack(from_float<__half>(values)));
      }
    });
    constexpr float kLowered = 1.0f / (1 << kRaised);
    mine.sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) * kLowered;
    own_max = mine.max;
    if (places.has_edge()) {
      float values[1] = {to_float(row.edge)};
      if (Config::ahead == 0 && places.edge_column() == row.known.target) mine.target = values[0];
      Sums<T>::add(mine, values);
    }
    return Sums<T>::template over_lanes<kWarpSize>(mine);
  };

  const auto write_gradients = [&](i64 r, const RowPlaces& places, const Held& held, const Coming& row,
                                   const Partial& whole) {
    const auto scale = op.scale_of(row.known, whole);
    T* const out = op.dlogits.row(r);
    if (scale.ignored) {
      const float zeros[kVec] = {};
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        if (places.has(chunk)) store_vector(out + places.column(chunk), from_float<T>(zeros));
      }
    } else {
      const int target_chunk = places.chunk_of(scale.target);
      const auto write_all = [&](const auto& exponentials_of, float factor) {
#pragma unroll
        for (int chunk = 0; chunk < kChunks; ++chunk) {
          if (!places.has(chunk)) continue;
          const int column = places.column(chunk);
          float values[kVec];
          exponentials_of(held[chunk], values);
#pragma unroll
          for (int k = 0; k < kVec; ++k) values[k] = fmaf(values[k], factor, -scale.rest);
          if (chunk == target_chunk) {
            const int hit = static_cast<int>(scale.target) - column;
#pragma unroll
            for (int k = 0; k < kVec; ++k) values[k] -= hit == k ? scale.hit : 0.0f;
          }
          store_vector(out + column, from_float<T>(values));
        }
      };
      if constexpr (kKept) {
        constexpr float kLowered = 1.0f / (1 << kRaised);
        write_all([&](const Packed<T, kVec>& kept,
                      float(&values)[kVec]) { to_float(__builtin_bit_cast(Packed<__half, kVec>, kept), values); },
                  scale.scale * kLowered * row::Exponentials<T>::rescaling(own_max, scale.max));
      } else {
        with_exponential<T, 0>(scale.max, [&](const auto& exponential) {
          write_all(
              [&](const Packed<T, kVec>& logits, float(&values)[kVec]) {
                to_float(logits, values);
#pragma unroll
                for (float& value : values) value = exponential(value);
              },
              scale.scale);
        });
      }
    }
    if (places.has_edge()) {
      const Vector<T, 1> one{{row.edge}};
      op.template write_gradient<1>(pack(one), scale, r, places.edge_column());
    }
  };
  const auto write = [&](i64 r, const RowPlaces& places, const Held& held, const Coming& row, const Partial& whole) {
    if (thread == 0) op.write_loss(r, row.known.target, whole);
    if constexpr (Op<Config>::kGradient) write_gradients(r, places, held, row, whole);
  };

  if constexpr (Config::ahead == 0) {
    const RowPlaces places = places_of(part);
    Coming row{};
    know(part, row);
    Held held;
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      held[chunk] = pad();
      if (places.has(chunk)) held[chunk] = load_packed<kVec>(op.logits.row(part) + places.column(chunk));
    }
    if (places.has_edge()) row.edge = op.logits.row(part)[places.edge_column()];
    meet();
    talk.send(sums_of(part, places, held, row), 0);
    write(part, places, held, row, talk.receive(0));
  } else if constexpr (Config::ahead == 1) {
    Coming coming{};
    copy(part, 0, coming);
    know(part, coming);
    meet();
    i64 turn = 0;
    for (i64 r = part; r < rows; r += step, ++turn) {
      const Coming now = coming;
      const RowPlaces places = places_of(r);
      Held held;
      ptx::cp_async_wait<0>();
      take(places, 0, held);
      copy(r + step, 0, coming);
      talk.send(sums_of(r, places, held, now), turn);
      know(r + step, coming);
      write(r, places, held, now, talk.receive(turn));
    }
  } else {
    Coming now{}, next{}, after{};
    copy(part, 0, now);
    copy(part + step, 1, next);
    copy(part + 2 * step, 2, after);
    know(part, now);
    know(part + step, next);
    meet();
    const auto send = [&](i64 r, int stage, const Coming& row, i64 turn) {
      const RowPlaces places = places_of(r);
      Held held;
      take(places, stage, held);
      talk.send(sums_of(r, places, held, row), turn);
    };
    ptx::cp_async_wait<2>();
    send(part, 0, now, 0);
    int stage = 0;
    i64 turn = 0;
    for (i64 r = part; r < rows; r += step, ++turn) {
      const int next_stage = stage + 1 == kStages ? 0 : stage + 1;
      ptx::cp_async_wait<1>();
      if (r + step < rows) send(r + step, next_stage, next, turn + 1);
      know(r + 2 * step, after);
      const Partial whole = talk.receive(turn);
      const RowPlaces places = places_of(r);
      Held held;
      take(places, stage, held);
      write(r, places, held, now, whole);
      now = next;
      next = after;
      copy(r + kStages * step, stage, after);
      stage = next_stage;
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
