// SPDX-License-Identifier: Apache-2.0
//
// The gradient of cross_entropy.cu of wide rows on a cluster, as `told` with ahead=0 has them (told.cu), but more of
// the rows are on chip. A row's loads, exponentials, exchange and stores take turns, so an SM moves bytes as fast as
// the rows that it holds go by; registers alone hold too few.
//
//   a thread's vectors   0 … held − 1           in registers
//                        held … chunks − 1      aside: in slots of shared memory that it alone uses, by cp.async
//
// A cluster has one row; rows of other clusters arrive meanwhile. Blocks have any number of warps, so that nearly all
// threads have all their vectors. A warp's work beside its vectors is small:
//
//   exchange   the maximum and the sum go to all blocks, the loss's other terms to block 0 alone
//   target     the thread that holds its column writes that gradient again, after its vectors
//
// sm_90 and later.

#include "cross_entropy/told.cu"
#include "device/ptx/cluster_relaxed.cuh"

namespace cross_entropy {

// The exchange of one row's partials between the warps of a cluster: prepare(), send(), receive(). Each warp stores its
// partial into the shared memory of the blocks, where an mbarrier counts the bytes. A block that has received from all
// may end: nothing is in flight to it. (device/row/warp_talk.cuh is for many rows, and for powers of two of warps.)
template <class T, int kWarps, int kCluster>
class OneTalk {
 public:
  using Partial = typename Sums<T>::Partial;
  enum : int { kAll = kWarps * kCluster };
  struct alignas(8) Exponentials {
    float max, sum;
  };
  struct alignas(8) LossTerms {
    float total, target;
  };
  struct Storage {
    alignas(16) Exponentials exponentials[kAll];
    LossTerms loss_terms[kAll];  // in block 0
    u64 arrived;
  };
  static_assert(kCluster <= kWarpSize, "a lane tells a block");

  __device__ __forceinline__ OneTalk(Storage& storage, u32 rank) : storage_(storage), rank_(rank) {}

  // All threads call. Work before send() hides the wait for the other blocks.
  __device__ __forceinline__ void prepare() {
    if (threadIdx.x == 0) {
      const auto expected = sizeof(storage_.exponentials) + (rank_ == 0 ? sizeof(storage_.loss_terms) : 0);
      ptx::mbarrier_init(&storage_.arrived, 1);
      ptx::fence_mbarrier_init();
      ptx::mbarrier_arrive_expect_tx(&storage_.arrived, static_cast<u32>(expected));
    }
    __syncwarp();
    ptx::cluster_arrive_relaxed();
  }

  // All threads call with the warp's partial. The loss's terms go first: they wait for the target's logit, which
  // another block may overwrite once it has all exponentials.
  __device__ __forceinline__ void send(const Partial& mine) {
    ptx::cluster_wait();
    const u32 lane = threadIdx.x % kWarpSize, warp = rank_ * kWarps + threadIdx.x / kWarpSize;
    if (lane == 0) {
      const LossTerms loss_terms{mine.total, mine.target};
      tell(&storage_.loss_terms[warp], __builtin_bit_cast(u64, loss_terms), 0);
    }
    if (lane < kCluster) {
      const Exponentials exponentials{mine.max, mine.sum};
      tell(&storage_.exponentials[warp], __builtin_bit_cast(u64, exponentials), lane);
    }
  }

  // The row's maximum and sum in each thread. The first warp of block 0 also has its total and its target.
  __device__ __forceinline__ Partial receive() const {
    using Merge = row::Exponentials<T>;
    ptx::mbarrier_wait<true>(&storage_.arrived, 0);
    Exponentials of_lane[kOfLane];
    float max = -kInfinity;
    for_slots([&](int i, int slot) {
      of_lane[i] = storage_.exponentials[slot];
      max = fmaxf(max, of_lane[i].max);
    });
    max = reduce_lanes<kWarpSize>(max, Max{});
    float sum = 0.0f;
    for_slots([&](int i, int) { sum = fmaf(of_lane[i].sum, Merge::rescaling(of_lane[i].max, max), sum); });
    Partial whole{max, reduce_lanes<kWarpSize>(sum, Sum{}), 0.0f, 0.0f};
    if (rank_ == 0 && threadIdx.x < kWarpSize) {
      for_slots([&](int, int slot) {
        whole.total += storage_.loss_terms[slot].total;
        whole.target += storage_.loss_terms[slot].target;
      });
      whole.total = reduce_lanes<kWarpSize>(whole.total, Sum{});
      whole.target = reduce_lanes<kWarpSize>(whole.target, Sum{});
    }
    return whole;
  }

 private:
  enum : int { kOfLane = (kAll + kWarpSize - 1) / kWarpSize };

  __device__ __forceinline__ void tell(void* own, u64 word, u32 rank) const {
    ptx::store_async(ptx::map_shared(static_cast<u64*>(own), rank), word, ptx::map_shared(&storage_.arrived, rank));
  }

  // Calls `use(i, slot)` for the i-th slot of the lane.
  template <class Use>
  __device__ __forceinline__ void for_slots(const Use& use) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      if (i * kWarpSize + lane < kAll) use(i, i * kWarpSize + lane);
    }
  }

  Storage& storage_;
  u32 rank_;
};

// Config: cluster, num_warps, vec, chunks, held, ragged, kept, blocks. `chunks` is the fewest that hold the row, so
// only a thread's first and last vectors may be missing. Shared memory: the exchange, round_up(16 · num_warps · cluster
// + 16, 128), then a slot for each of a thread's vectors that are aside.
template <class Config>
class ToldAside {
  using T = typename Config::dtype;
  using Partial = typename Op<Config>::Partial;
  using RowPlaces = Places<Config>;
  using Talk = OneTalk<T, Config::num_warps, Config::cluster>;
  enum : bool { kKept = Config::kept != 0 };
  enum : int {
    kVec = Config::vec,
    kCluster = Config::cluster,
    kChunks = Config::chunks,
    kHeld = Config::held < Config::chunks ? Config::held : Config::chunks,
    kOfBlock = Config::num_warps * kWarpSize,
    kThreads = kOfBlock * kCluster,
    kHeader = round_up<int>(16 * Config::num_warps * kCluster + 16, 128),
    kRaised = kKept ? 15 : 0,  // extends fp16's range downwards
  };
  using Elements = Packed<T, kVec>;
  static_assert(kCluster > 1, "by clusters");
  static_assert(kVec * sizeof(T) == 16, "a vector has 16 bytes");
  static_assert(kChunks > 1, "the first vector is not the last");
  static_assert(!kKept || is_same<T, __nv_bfloat16>, "elements of bf16 are kept as exponentials");
  static_assert(Op<Config>::kGradient, "for the loss alone a row need not stay");
  static_assert(RowPlaces::kMaxEdges <= kThreads, "a thread has one edge");
  static_assert(sizeof(typename Talk::Storage) <= kHeader, "partials fit in front of the slots");

 public:
  __device__ __forceinline__ explicit ToldAside(const Op<Config>& op)
      : ToldAside(op, blockIdx.x / u32{kCluster}, ptx::cluster_rank()) {}

  __device__ __forceinline__ void run() {
    talk_.prepare();
    load();
    known_.target = op_.targets[r_];
    known_.dloss = op_.dloss[r_];
    ptx::cp_async_wait<0>();
    load_target();
    talk_.send(sums());
    const Partial whole = talk_.receive();
    if (thread_ == 0) op_.write_loss(r_, known_.target, whole);
    write_gradients(whole);
  }

  // The same without vectors, for gradients that are aligned differently than their logits.
  __device__ __forceinline__ void run_by_elements() {
    known_ = op_.know(r_, thread_ == 0);
    talk_.prepare();
    const T* const row = op_.logits.row(r_);
    const auto for_elements = [&](const auto& use) {
#pragma unroll 1
      for (i64 c = thread_; c < op_.vocab; c += kThreads) use(load_packed<1>(row + c), c);
    };
    Partial mine = Op<Config>::first_partial(known_);
    for_elements([&](const Packed<T, 1>& element, i64) {
      float values[1];
      to_float(element, values);
      Sums<T>::add(mine, values);
    });
    talk_.send(Sums<T>::template over_lanes<kWarpSize>(mine));
    const Partial whole = talk_.receive();
    if (thread_ == 0) op_.write_loss(r_, known_.target, whole);
    const auto scale = op_.scale_of(known_, whole);
    for_elements([&](const Packed<T, 1>& element, i64 c) { op_.template write_gradient<1>(element, scale, r_, c); });
  }

 private:
  __device__ __forceinline__ ToldAside(const Op<Config>& op, i64 r, u32 rank)
      : op_(op),
        r_(r),
        thread_(static_cast<int>(rank) * kOfBlock + static_cast<int>(threadIdx.x)),
        places_(op.logits.row(r), static_cast<int>(op.vocab), thread_),
        aside_(reinterpret_cast<Elements*>(shared_storage<u8>() + kHeader) + threadIdx.x),
        talk_(*shared_storage<typename Talk::Storage>(), rank) {}

  __device__ __forceinline__ bool has(int chunk) const {
    return (chunk > 0 && chunk < kChunks - 1) || places_.has(chunk);
  }

  // Calls `use(chunk, elements, has)` for all of the thread's vectors, those aside kUnroll at a time: they need few
  // registers. `use` tells whether it has changed the elements.
  template <int kUnroll, class Use>
  __device__ __forceinline__ void for_vectors(const Use& use) {
#pragma unroll
    for (int chunk = 0; chunk < kHeld; ++chunk) use(chunk, held_[chunk], has(chunk));
    if constexpr (kHeld < kChunks) {
      const auto take = [&](int chunk, bool is_there) {
        Elements* const slot = aside_ + (chunk - kHeld) * kOfBlock;
        Elements elements = *slot;
        if (use(chunk, elements, is_there)) *slot = elements;
      };
      if constexpr (kHeld == 0) take(0, has(0));
#pragma unroll kUnroll
      for (int chunk = kHeld > 0 ? kHeld : 1; chunk < kChunks - 1; ++chunk) take(chunk, true);
      take(kChunks - 1, has(kChunks - 1));
    }
  }

  // Starts all loads. A vector that the thread lacks adds nothing to the exponentials.
  __device__ __forceinline__ void load() {
    const T* const row = op_.logits.row(r_);
    const T* const from = row + places_.column(0);
    Vector<T, kVec> nothing;
#pragma unroll
    for (int k = 0; k < kVec; ++k) nothing[k] = from_float<T>(-kInfinity);
#pragma unroll
    for (int chunk = kHeld; chunk < kChunks; ++chunk) {
      Elements* const slot = aside_ + (chunk - kHeld) * kOfBlock;
      if (has(chunk)) {
        ptx::cp_async<16>(slot, from + chunk * kThreads * kVec);
      } else {
        *slot = pack(nothing);
      }
    }
    ptx::cp_async_commit();
#pragma unroll
    for (int chunk = 0; chunk < kHeld; ++chunk) {
      held_[chunk] = pack(nothing);
      if (has(chunk)) held_[chunk] = load_packed<kVec>(from + chunk * kThreads * kVec);
    }
    if (places_.has_edge()) edge_ = row[places_.edge_column()];
  }

  // The target's logit is for the thread that holds it and for the first one, which writes the loss. It arrives during
  // the sums.
  __device__ __forceinline__ void load_target() {
    has_target_ = places_.chunk_of(known_.target) >= 0;
    const bool is_for_loss = thread_ == 0 && known_.target >= 0 && known_.target < op_.vocab;
    target_logit_ = from_float<T>(0.0f);
    if (has_target_ || is_for_loss) target_logit_ = op_.logits.row(r_)[known_.target];
  }

  // The sums of the warp's elements; with kept=1 their exponentials replace them.
  __device__ __forceinline__ Partial sums() {
    Largest<T, kVec> most;
    for_vectors<4>([&](int, const Elements& elements, bool) {
      most.add(elements);
      return false;
    });
    own_max_ = most.get();

    float total = 0.0f, sums[4] = {};
    with_exponential<T, kRaised>(own_max_, [&](const auto& exponential) {
      for_vectors<2>([&](int, Elements& elements, bool is_there) {
        float values[kVec], of_vector = 0.0f;
        to_float(elements, values);
#pragma unroll
        for (int k = 0; k < kVec; ++k) of_vector += values[k];
        total += is_there ? of_vector : 0.0f;
#pragma unroll
        for (int k = 0; k < kVec; ++k) {
          values[k] = exponential(values[k]);
          sums[k % 4] += values[k];
        }
        if constexpr (kKept) elements = __builtin_bit_cast(Elements, pack(from_float<__half>(values)));
        return bool{kKept};
      });
    });

    Partial mine{own_max_, ((sums[0] + sums[1]) + (sums[2] + sums[3])) * lowered(), total,
                 thread_ == 0 ? to_float(target_logit_) : 0.0f};
    if (places_.has_edge()) {
      float values[1] = {to_float(edge_)};
      Sums<T>::add(mine, values);
    }
    const auto exponentials = row::Exponentials<T>::template over_lanes<kWarpSize>({mine.max, mine.sum});
    return {exponentials.max, exponentials.sum, reduce_lanes<kWarpSize>(mine.total, Sum{}), mine.target};
  }

  __device__ __forceinline__ void write_gradients(const Partial& whole) {
    const auto scale = op_.scale_of(known_, whole);
    T* const to = op_.dlogits.row(r_) + places_.column(0);
    if (scale.ignored) {
      const float zeros[kVec] = {};
#pragma unroll 1
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        if (has(chunk)) store_vector(to + chunk * kThreads * kVec, from_float<T>(zeros));
      }
    } else if constexpr (kKept) {
      write_vectors(to, scale.scale * lowered() * row::Exponentials<T>::rescaling(own_max_, scale.max), scale.rest,
                    [](const Elements& kept, float(&values)[kVec]) {
                      to_float(__builtin_bit_cast(Packed<__half, kVec>, kept), values);
                    });
    } else {
      with_exponential<T, 0>(scale.max, [&](const auto& exponential) {
        write_vectors(to, scale.scale, scale.rest, [&](const Elements& logits, float(&values)[kVec]) {
          to_float(logits, values);
#pragma unroll
          for (float& value : values) value = exponential(value);
        });
      });
    }
    const auto write_one = [&](T logit, i64 column) {
      const Vector<T, 1> one{{logit}};
      op_.template write_gradient<1>(pack(one), scale, r_, column);
    };
    if (has_target_) write_one(target_logit_, known_.target);
    if (places_.has_edge()) write_one(edge_, places_.edge_column());
  }

  // Writes `factor` times the exponentials that `exponentials_of(elements, values)` gives, less `smoothing`, each
  // column's share of it.
  template <class ExponentialsOf>
  __device__ __forceinline__ void write_vectors(T* to, float factor, float smoothing,
                                                const ExponentialsOf& exponentials_of) {
    for_vectors<2>([&](int chunk, const Elements& elements, bool is_there) {
      float values[kVec];
      exponentials_of(elements, values);
#pragma unroll
      for (int k = 0; k < kVec; ++k) values[k] = fmaf(values[k], factor, -smoothing);
      if (is_there) store_vector(to + chunk * kThreads * kVec, from_float<T>(values));
      return false;
    });
  }

  __device__ static __forceinline__ float lowered() { return 1.0f / (1 << kRaised); }

  const Op<Config>& op_;
  i64 r_;
  int thread_;
  RowPlaces places_;
  Elements held_[kHeld > 0 ? kHeld : 1];
  Elements* aside_;
  T edge_, target_logit_;
  bool has_target_;
  float own_max_;  // relative to which kept=1 keeps elements
  typename Op<Config>::Known known_;
  Talk talk_;
};

}  // namespace cross_entropy

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::blocks)
    cross_entropy_told_aside(long long rows, long long vocab, const typename Config::dtype* logits,
                             const long long* target, const float* dloss, float* loss, float* lse,
                             typename Config::dtype* dlogits, float smoothing, long long ignore, long long logits_pitch,
                             long long dlogits_pitch) {
  using namespace cross_entropy;
  const auto op =
      op_of<Config>(vocab, logits, target, dloss, loss, lse, dlogits, smoothing, ignore, logits_pitch, dlogits_pitch);
  if (Config::ragged != 0 && !in_step(op)) {
    ToldAside<Config>(op).run_by_elements();
  } else {
    ToldAside<Config>(op).run();
  }
}
