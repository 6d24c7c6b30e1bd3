// SPDX-License-Identifier: Apache-2.0
#pragma once

// Row ops with a weight per column whose results need all inputs and a few sums over the row, and which also sum over
// all rows, per column, as gradients do. A group of threads of a block or a cluster takes a row at a time and keeps its
// columns: sums over rows stay in registers and leave the block once; gradient_sums.cuh adds them. Rows travel to
// shared memory while others are computed. A thread copies what it alone reads, but for the shift's elements, which a
// warp's first lane copies: no barrier.
//
//   stage 0   input 0: v0 v1 v2 …   input 1: v0 v1 v2 …        a ring of `stages` rows; vi is thread i's vector
//   stage 1   input 0: v0 v1 v2 …   input 1: v0 v1 v2 …
//
// An op is a class with
//
//   T, kInputs                        element type; number of matrices read, beside one that is written
//   kCentred                          whether the row's sums are around a shift: near the mean of the first elements
//                                     of input 0, and itself a T
//   kValues, kSums                    number of sums over a row, a power of two, and of sums over rows
//   kLongSums                         how many of the latter, the first ones, are added in two levels
//   tensors                           RowTensors<T, kInputs, 1, 1>
//   add(in, weight, shift, values)    adds an element to the row's sums: nothing, if input 0 is the shift and the
//                                     others are 0
//   scale(values, shift, width, there)
//                                     the values that a row's results share; of a row that is not there, all inputs
//                                     are 0
//   result(in, weight, scale, added)  the result of an element; `added` receives its terms of the sums over rows:
//                                     zeros, if the row is not there
//
// An output may be an input: a thread writes only elements that it alone has read, or a row's first ones after all of
// the row's threads have exchanged their sums. sm_80 and later, clusters sm_90.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/ptx/barrier.cuh"
#include "device/ptx/cluster.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ptx/opaque.cuh"
#include "device/ptx/store_async_wide.cuh"
#include "device/ptx/store_whole.cuh"
#include "device/reduce.cuh"
#include "device/row/column_sums.cuh"
#include "device/row/gradient_sums.cuh"
#include "device/row/tensors.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"

namespace tilewright::row {

// Sums of kCount values (a power of two) over kLanes neighbouring lanes. Halves of the lanes first take over halves of
// the values: four values over a warp take 6 shuffles, where a butterfly per value takes 20. Lane i gets the sum of
// value i / (kLanes / kCount).
template <int kLanes, int kCount>
__device__ __forceinline__ float sums_by_lanes(const float (&values)[kCount]) {
  static_assert(kLanes >= kCount, "a value is at least a lane's");
  if constexpr (kCount == 1) {
    return reduce_lanes<kLanes>(values[0], Sum{});
  } else {
    const bool upper = (threadIdx.x & (kLanes / 2)) != 0;
    float half[kCount / 2];
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) {
      const float own = upper ? values[kCount / 2 + i] : values[i], other = upper ? values[i] : values[kCount / 2 + i];
      half[i] = own + __shfl_xor_sync(kFullMask, other, kLanes / 2);
    }
    return sums_by_lanes<kLanes / 2>(half);
  }
}

// kCount sums over a row.
template <int kCount>
struct Sums {
  struct alignas(kCount < 4 ? 8 : 16) Partial {
    float values[kCount];
  };
  template <int kLanes>
  __device__ static __forceinline__ Partial over_lanes(const Partial& partial) {
    Partial all;
    if constexpr (kLanes < kCount) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) all.values[i] = reduce_lanes<kLanes>(partial.values[i], Sum{});
    } else {
      const float mine = sums_by_lanes<kLanes>(partial.values);
#pragma unroll
      for (int i = 0; i < kCount; ++i) all.values[i] = __shfl_sync(kFullMask, mine, i * (kLanes / kCount), kLanes);
    }
    return all;
  }
  // Leaves the sums over a warp in shared memory. A value's first lane has its sum.
  __device__ static __forceinline__ void leave(const Partial& partial, Partial* slot) {
    const float mine = sums_by_lanes<kWarpSize>(partial.values);
    const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
    if (lane % kOfValue == 0) slot->values[lane / kOfValue] = mine;
  }
  // Adds kSlots partials in shared memory, a power of two. A lane adds one value's.
  template <int kSlots>
  __device__ static __forceinline__ Partial over_slots(const Partial* slots) {
    constexpr int kLanes = kSlots < kOfValue ? kSlots : kOfValue;
    const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
    const float* const own = slots[lane % kLanes].values + lane / kOfValue;
    float mine = *own;
#pragma unroll
    for (int more = kLanes; more < kSlots; more += kLanes) mine += own[more * kCount];
    mine = reduce_lanes<kLanes>(mine, Sum{});
    Partial all;
#pragma unroll
    for (int i = 0; i < kCount; ++i) all.values[i] = __shfl_sync(kFullMask, mine, i * kOfValue);
    return all;
  }

 private:
  enum : int { kOfValue = kWarpSize / kCount };  // lanes
};

// The exchange of sums between the warps of a row, send before receive, for kGroups rows side by side in a block. In a
// cluster each warp stores its sums into the shared memory of all blocks, where an mbarrier counts the bytes. A block
// that has received from all may end: nothing is in flight to it. Rows are numbered from 0.
//
// Rows use kRing slots in turn; a row may be sent before the last one is received. A warp that sends row + 2 has
// received `row`, so all other warps have sent `row` and received row − 2. Unread slots are of row − 1 and later: 4
// suffice.
//
// kApart: the warps of a row wait for each other alone, so that one row's exchange hides behind other rows' elements.
//
// kLanes: the lanes of a warp that share a row.
template <class RowSums, int kWarps, int kGroups, int kLanes, int kCluster, bool kApart = false>
class RowTalk {
 public:
  using Partial = typename RowSums::Partial;
  enum : int { kRing = 4, kOfRow = kWarps / kGroups, kPartials = kOfRow * kCluster };
  struct Storage {
    Partial partials[kRing][kWarps * kCluster];
    u64 arrived[kRing];
  };

  __device__ __forceinline__ explicit RowTalk(Storage& storage) : storage_(storage) {
    if constexpr (kCluster > 1) {
      if (threadIdx.x == 0) {
#pragma unroll
        for (int slot = 0; slot < kRing; ++slot) ptx::mbarrier_init(&storage_.arrived[slot], 1);
        ptx::fence_mbarrier_init();
      }
      __syncthreads();
      ptx::cluster_arrive();
    }
  }

  // All threads call; `own` is the thread's partial.
  __device__ __forceinline__ void send(const Partial& own, i64 row) {
    const int slot = static_cast<int>(row % kRing);
    const int warp = static_cast<int>(threadIdx.x) / kWarpSize, lane = static_cast<int>(threadIdx.x) % kWarpSize;
    if constexpr (kCluster > 1) {
      const Partial mine = RowSums::template over_lanes<kWarpSize>(own);
      if (!met_) ptx::cluster_wait();
      met_ = true;
      if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect_tx(&storage_.arrived[slot], static_cast<u32>(sizeof(storage_.partials[slot])));
      }
      if (lane < kCluster) {
        if constexpr (alignof(Partial) == 16) {
          tell<Bits128>(mine, static_cast<u32>(lane), slot, warp);
        } else {
          tell<u64>(mine, static_cast<u32>(lane), slot, warp);
        }
      }
    } else if constexpr (kOfRow > 1) {
      RowSums::leave(own, &storage_.partials[slot][warp]);
      if constexpr (kApart) {
        ptx::barrier_sync(1 + static_cast<u32>(warp) / kOfRow, kOfRow * kWarpSize);
      } else {
        __syncthreads();
      }
    } else {
      own_ = RowSums::template over_lanes<kLanes>(own);
    }
  }

  __device__ __forceinline__ Partial receive(i64 row) {
    if constexpr (kPartials == 1) {
      return own_;
    } else {
      const int slot = static_cast<int>(row % kRing);
      if constexpr (kCluster > 1) {
        ptx::mbarrier_wait<true>(&storage_.arrived[slot], static_cast<u32>(row / kRing) & 1);
      }
      const int group = static_cast<int>(threadIdx.x) / (kOfRow * kWarpSize);
      return RowSums::template over_slots<kPartials>(storage_.partials[slot] + group * kOfRow);
    }
  }

 private:
  // Sends words of 8 or 16 bytes.
  template <class Message>
  __device__ __forceinline__ void tell(const Partial& mine, u32 rank, int slot, int warp) {
    constexpr int kMessages = static_cast<int>(sizeof(Partial) / sizeof(Message));
    struct Words {
      Message words[kMessages];
    };
    auto* const own = reinterpret_cast<Message*>(&storage_.partials[slot][ptx::cluster_rank() * kWarps + warp]);
    u64* const arrived = ptx::map_shared(&storage_.arrived[slot], rank);
    const auto words = __builtin_bit_cast(Words, mine);
#pragma unroll
    for (int w = 0; w < kMessages; ++w) ptx::store_async(ptx::map_shared(own + w, rank), words.words[w], arrived);
  }

  Storage& storage_;
  Partial own_;       // if a row is one warp's, or part of one's
  bool met_ = false;  // whether all blocks of the cluster are known to run
};

// Makes the compiler widen narrow values again at each use; it would keep all of them in fp32.
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

// A T near the mean of some elements; of equal ones exactly their value, if their sum is finite. The difference of two
// T of 16 bits is exact in fp32, unless one is 2^13 times the other.
template <class T, int kCount>
__device__ __forceinline__ float shift_near(const Packed<T, kCount>& elements) {
  float values[kCount];
  to_float(elements, values);
#pragma unroll
  for (int half = kCount / 2; half > 0; half /= 2) {
#pragma unroll
    for (int i = 0; i < half; ++i) values[i] += values[half + i];
  }
  const float mean = values[0] * (1.0f / kCount);
  if constexpr (is_same<T, __nv_bfloat16>) {
    return __builtin_bit_cast(float, __builtin_bit_cast(u32, mean) & 0xffff0000u);
  } else {
    return to_float(from_float<T>(mean));
  }
}

template <class T, int kVec>
__device__ __forceinline__ Packed<T, kVec> all_are(float value) {
  Vector<T, kVec> vector;
#pragma unroll
  for (int j = 0; j < kVec; ++j) vector[j] = from_float<T>(value);
  return pack(vector);
}

// Starts the copy of elements to shared memory, or of zeros. A predicate of the copy: no branch.
template <class T, int kVec>
__device__ __forceinline__ void copy_or_zero(Packed<T, kVec>* slot, const T* from, bool there) {
  constexpr u32 kBytes = sizeof(*slot);
  ptx::cp_async_zero_fill<kBytes>(slot, from, there ? kBytes : 0);
}

// Stores the sums over rows of each warp, sums[s][chunk] of a thread's vector at place(s, chunk); lanes have
// neighbouring vectors. They go through shared memory, the block's `room` for all of them: stores of 16 of a thread's
// own 32 bytes, or of 4, would each write a part of every sector.
template <bool kAligned, int kSums, int kChunks, int kVec, class Place>
__device__ __forceinline__ void store_by_warps(const float (&sums)[kSums][kChunks][kVec], const bool (&has)[kChunks],
                                               float* room, const Place& place) {
  constexpr int kOfWarp = kWarpSize * kVec, kStore = !kAligned ? 1 : kVec < 4 ? kVec : 4;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize, lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const auto room_of = [&](int s, int chunk) { return room + ((warp * kSums + s) * kChunks + chunk) * kOfWarp; };
#pragma unroll
  for (int s = 0; s < kSums; ++s) {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      Vector<float, kVec> own;
#pragma unroll
      for (int j = 0; j < kVec; ++j) own[j] = sums[s][chunk][j];
      store_vector(room_of(s, chunk) + lane * kVec, own);
    }
  }
  __syncwarp();
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    const int count = __popc(__ballot_sync(kFullMask, has[chunk])) * kVec;
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
      float* const out = place(s, chunk) - lane * kVec;
#pragma unroll
      for (int i = 0; i < kVec / kStore; ++i) {
        const int at = (i * kWarpSize + lane) * kStore;
        if (at >= count) continue;
        const auto moved = load_packed<kStore>(room_of(s, chunk) + at);
        if constexpr (kStore == 4) {
          ptx::store_whole(reinterpret_cast<Word<16>*>(out + at), moved.words[0]);
        } else {
          store_vector(out + at, unpack(moved));
        }
      }
    }
  }
}

// Whether `blocks` blocks of an SM have room for totals: `totals_fit` of norm_gradient.toml is the same. Of an SM's 228
// KiB of shared memory the device keeps 1 for each block.
__device__ constexpr bool totals_fit(int blocks, int header, int ring, int totals) {
  return blocks * (header + ring + totals + 1024) <= 233472;
}

// Sums over rows in two levels: after each 8, 16, … turns, about the root of their number, the registers' sums go to a
// thread's own totals in shared memory. The rounding errors of a long sum in turns would be most of a result's.
//
// A block without room for totals adds in turns.
template <int kSums, int kChunks, int kVec, int kThreads>
class LongSums {
 public:
  enum : int { kBytes = kSums * kChunks * kVec * kThreads * 4, kShortSum = 8 };

  // All blocks take `rows` rows, `step` in a turn.
  __device__ __forceinline__ LongSums(u8* room, i64 rows, i64 step)
      : totals_(reinterpret_cast<float*>(room)), last_(kNever) {
    if (rows <= kShortSum * step) return;
    int length = kShortSum;
    while (i64{length} * length * step < rows && length < (1 << 20)) length *= 2;
    last_ = length - 1;
  }

  // Whether the registers' sums are long enough after this turn.
  __device__ __forceinline__ bool are_due(i64 turn) const { return (static_cast<int>(turn) & kNever & last_) == last_; }
  // Adds the registers' sums to the totals, after a turn after which they are due.
  template <class Registers>
  __device__ __forceinline__ void keep(i64 turn, Registers& sums) const {
    each<true>([&](int s, int chunk, int j, float& total) {
      total = (turn > last_ ? total : 0.0f) + sums[s][chunk][j];
      sums[s][chunk][j] = 0.0f;
    });
  }
  // After the last turn: the registers then have the whole sums.
  template <class Registers>
  __device__ __forceinline__ void take(Registers& sums) const {
    if (last_ == kNever) return;
    each<false>([&](int s, int chunk, int j, float& total) { sums[s][chunk][j] += total; });
  }

 private:
  enum : int { kNever = 0x7fffffff, kWord = kVec < 4 ? kVec : 4 };
  // Neighbouring threads have neighbouring vectors of 16 bytes.
  template <bool kStores, class Work>
  __device__ __forceinline__ void each(const Work& work) const {
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
#pragma unroll
        for (int word = 0; word < kVec / kWord; ++word) {
          const int vector = ((s * kChunks + chunk) * (kVec / kWord) + word) * kThreads;
          float* const place = totals_ + (vector + static_cast<int>(threadIdx.x)) * kWord;
          Vector<float, kWord> own = load_vector<kWord>(place);
#pragma unroll
          for (int j = 0; j < kWord; ++j) work(s, chunk, word * kWord + j, own[j]);
          if constexpr (kStores) store_vector(place, own);
        }
      }
    }
  }

  float* totals_;
  int last_;  // turn & last_ == last_: the sums go to the totals
};

// Config: num_warps, rows_per_block, batch, vec, chunks, stages, ahead, blocks, early, apart (as in RowTalk);
// static_dims with cols; cluster. With ahead=1 a row's sums are sent before the previous row's are received, and its
// elements are read from shared memory twice. With early=1 the kernel that adds the parts may start at once, and waits,
// else after the last row. Thread t of a row takes the vectors t, t + cluster · threads_per_row, … (`chunks` of them)
// of `batch` rows at once, whose sums go together. Shared memory: the exchange of warps and blocks, the first elements
// of rows in flight for each group of lanes if sums are centred, both rounded up to 128 bytes; then the ring, and the
// totals of LongSums. After the last row: sums over rows of rows_per_block groups.
template <class Config, class Op>
class RingRows {
  using T = typename Op::T;
  enum : int {
    kVec = Config::vec,
    kChunks = Config::chunks,
    kStages = Config::stages,
    kRows = Config::rows_per_block,
    kBatch = Config::batch,
    kCluster = Config::cluster,
    kThreads = Config::num_warps * kWarpSize,
    kThreadsPerRow = kThreads / kRows,
    kLanes = kThreadsPerRow < kWarpSize ? kThreadsPerRow : kWarpSize,
    kWarpsPerRow = kThreadsPerRow / kLanes,
    kGroups = kThreads / kLanes,
    kValues = kBatch * Op::kValues,
  };
  using RowSums = Sums<kValues>;
  using Partial = typename RowSums::Partial;
  using Talk = RowTalk<RowSums, Config::num_warps, (kWarpsPerRow == 1 ? Config::num_warps : static_cast<int>(kRows)),
                       kLanes, kCluster, Config::apart != 0>;
  using Firsts = Packed<T, (kVec < 4 ? static_cast<int>(kVec) : 4)>;
  enum : int {
    kTalkBytes = static_cast<int>(sizeof(typename Talk::Storage)),
    kShiftBytes = Op::kCentred ? kStages * kBatch * kGroups * static_cast<int>(sizeof(Firsts)) : 0,
    kHeader = round_up<int>(kTalkBytes + kShiftBytes, 128),
    kRing = kStages * kBatch * Op::kInputs * kChunks * kThreads * kVec * static_cast<int>(sizeof(T)),
    // Registers left beside sums and loaded vectors hold weights in fp32, and then rows.
    kWords = kChunks * kVec * static_cast<int>(sizeof(T)) / 4,  // of one input's vectors
    kRegisters = 65536 / (Config::blocks * kThreads) < 255 ? 65536 / (Config::blocks * kThreads) : 255,
    kLeft = kRegisters - 56 - Op::kSums * kChunks * kVec - (kBatch * Op::kInputs + 1) * kWords,
  };
  enum : bool {
    kNarrow = sizeof(T) == 2,
    kAhead = Config::ahead != 0,
    kWideWeights = kNarrow && kLeft >= kWords,
    kWideRows = !kAhead && kNarrow && kLeft >= (kBatch * Op::kInputs + 1) * kWords,
    // Known at compile time: each thread has all of its vectors.
    kFull = Config::cols == kCluster * kChunks * kThreadsPerRow * kVec,
  };
  static_assert(kThreads % kRows == 0 && kThreadsPerRow >= 4, "rows_per_block leaves a row 4 threads or more");
  static_assert(kCluster == 1 || kRows == 1, "a cluster has one row at a time");
  static_assert(kVec * sizeof(T) <= 16 && kVec * sizeof(T) >= 4, "a vector has 4 to 16 bytes");
  static_assert(Config::apart == 0 || (kRows > 1 && kRows < 16 && kWarpsPerRow > 1),
                "each row of several warps has a barrier");
  static_assert(!kAhead || (kStages >= 3 && kBatch == 1 && (kWarpsPerRow > 1 || kCluster > 1)),
                "a row ahead needs a stage more, and is one row of more than a warp");

  using Held = Packed<T, kVec>[kBatch][Op::kInputs][kChunks];
  using Totals = LongSums<Op::kLongSums, kChunks, kVec, kThreads>;
  enum : bool { kHasTotals = totals_fit(Config::blocks, kHeader, kRing, Totals::kBytes) };

 public:
  __device__ __forceinline__ RingRows(const Op& op, const ColumnPartials& partials, i64 rows, i64 cols)
      : op_(op),
        partials_(partials),
        rows_(rows),
        width_(Config::cols ? Config::cols : cols),
        shared_(shared_storage<u8>()),
        talk_(*reinterpret_cast<typename Talk::Storage*>(shared_)),
        rank_(kCluster > 1 ? static_cast<int>(ptx::cluster_rank()) : 0),
        thread_(static_cast<int>(threadIdx.x) % kThreadsPerRow),
        group_(static_cast<int>(threadIdx.x) / kThreadsPerRow),
        first_column_(i64{rank_ * kThreadsPerRow + thread_} * kVec),
        part_(blockIdx.x / u32{kCluster}),
        parts_(gridDim.x / u32{kCluster}),
        step_(parts_ * kRows),
        totals_(shared_ + kHeader + kRing, kHasTotals ? rows : 0, step_ * kBatch) {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      // All vectors but the last of a thread are there: no fewer would hold the row.
      has_[chunk] = kFull || chunk + 1 < kChunks || column_of(chunk) < width_;
    }
  }

  __device__ __forceinline__ void run() {
    const i64 begin = part_ * kRows;
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) fetch(begin + stage * kBatch * step_, stage);
    if constexpr (Config::early != 0) let_column_sums_start();
    load_weights();
    if constexpr (kAhead) {
      run_ahead(begin);
    } else {
      run_in_turn(begin);
    }
    if constexpr (Config::early == 0) let_column_sums_start();
    ptx::cp_async_wait<0>();
    if constexpr (kHasTotals) totals_.take(sums_);
    leave_sums();
  }

 private:
  __device__ __forceinline__ i64 column_of(int chunk) const {
    return first_column_ + chunk * (kCluster * kThreadsPerRow * kVec);
  }
  __device__ __forceinline__ Packed<T, kVec>* slot_of(int stage, int b, int input, int chunk) const {
    return reinterpret_cast<Packed<T, kVec>*>(shared_ + kHeader) + static_cast<int>(threadIdx.x) +
           stage * (kBatch * Op::kInputs * kChunks * kThreads) +
           ((b * Op::kInputs + input) * kChunks + chunk) * kThreads;
  }
  __device__ __forceinline__ Firsts* firsts_of(int stage, int b) const {
    return reinterpret_cast<Firsts*>(shared_ + kTalkBytes) + (stage * kBatch + b) * kGroups + threadIdx.x / kLanes;
  }

  // Starts the copies of row first + group and the next batch - 1 rows, into a stage that all lanes have read. Rows
  // and columns that do not exist become zeros.
  __device__ __forceinline__ void fetch(i64 first, int stage) {
    i64 row = first + group_;
#pragma unroll
    for (int b = 0; b < kBatch; ++b, row += step_) {
      const bool there = row < rows_;
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) {
        const T* const begin = op_.tensors.inputs[input].row(row);
#pragma unroll
        for (int chunk = 0; chunk < kChunks; ++chunk) {
          copy_or_zero(slot_of(stage, b, input, chunk), begin + column_of(chunk), there && has_[chunk]);
        }
        if constexpr (Op::kCentred) {
          if (input == 0 && threadIdx.x % kLanes == 0) copy_or_zero(firsts_of(stage, b), begin, there);
        }
      }
    }
    ptx::cp_async_commit();
  }

  __device__ __forceinline__ void load_weights() {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      weights_[chunk] = all_are<T, kVec>(0.0f);
      if (has_[chunk]) weights_[chunk] = load_packed<kVec, Load::kConstant>(op_.tensors.columns[0] + column_of(chunk));
      if constexpr (kWideWeights) to_float(weights_[chunk], wide_weights_[chunk]);
    }
  }

  // Later uses widen the weights again, unless they are held in fp32.
  __device__ __forceinline__ void narrow_weights() {
    if constexpr (kNarrow && !kWideWeights) keep_narrow(weights_);
  }
  __device__ __forceinline__ void weights_of(int chunk, float (&weights)[kVec]) const {
    if constexpr (kWideWeights) {
#pragma unroll
      for (int j = 0; j < kVec; ++j) weights[j] = wide_weights_[chunk][j];
    } else {
      to_float(weights_[chunk], weights);
    }
  }

  // Waits for this thread's copies; if sums are centred, for all of the warp's: one lane copied the shift.
  template <int kGroupsLeft>
  __device__ static __forceinline__ void wait_for_rows() {
    ptx::cp_async_wait<kGroupsLeft>();
    if constexpr (Op::kCentred) __syncwarp();
  }

  // Whether row `b` of the batch exists. With one row per block the first always does.
  __device__ __forceinline__ bool is_row(i64 first, int b) const {
    return (kRows == 1 && b == 0) || first + group_ + b * step_ < rows_;
  }
  // Elements behind a row are its shift, which adds nothing.
  __device__ __forceinline__ void take(int stage, const float (&shifts)[kBatch], Held& held) const {
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
#pragma unroll
      for (int input = 0; input < Op::kInputs; ++input) {
#pragma unroll
        for (int chunk = 0; chunk < kChunks; ++chunk) {
          held[b][input][chunk] = *slot_of(stage, b, input, chunk);
          if (input == 0 && !has_[chunk]) held[b][input][chunk] = all_are<T, kVec>(shifts[b]);
        }
      }
    }
  }
  __device__ __forceinline__ void take_shifts(int stage, float (&shifts)[kBatch]) const {
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      shifts[b] = 0.0f;
      if constexpr (Op::kCentred) shifts[b] = shift_near(*firsts_of(stage, b));
    }
  }

  // The thread's sums of its rows.
  __device__ __forceinline__ Partial sums_of(const Held& held, const float (&shifts)[kBatch]) {
    narrow_weights();
    Partial mine{};
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      float values[Op::kValues] = {};
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        float in[Op::kInputs][kVec], weights[kVec];
        elements_of(held[b], chunk, in);
        weights_of(chunk, weights);
#pragma unroll
        for (int j = 0; j < kVec; ++j) {
          float element[Op::kInputs];
#pragma unroll
          for (int input = 0; input < Op::kInputs; ++input) element[input] = in[input][j];
          op_.add(element, weights[j], shifts[b], values);
        }
      }
#pragma unroll
      for (int i = 0; i < Op::kValues; ++i) mine.values[b * Op::kValues + i] = values[i];
    }
    return mine;
  }
  __device__ static __forceinline__ void elements_of(const Packed<T, kVec> (&held)[Op::kInputs][kChunks], int chunk,
                                                     float (&in)[Op::kInputs][kVec]) {
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) to_float(held[input][chunk], in[input]);
  }

  // Writes the rows' results and adds to the sums over rows.
  __device__ __forceinline__ void write(i64 first, Held& held, const Partial& whole, const float (&shifts)[kBatch]) {
    narrow_weights();
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      if constexpr (kNarrow && !kWideRows) {
#pragma unroll
        for (int input = 0; input < Op::kInputs; ++input) keep_narrow(held[b][input]);
      }
      float values[Op::kValues];
#pragma unroll
      for (int i = 0; i < Op::kValues; ++i) values[i] = whole.values[b * Op::kValues + i];
      const bool there = is_row(first, b);
      const auto scale = op_.scale(values, shifts[b], width_, there);
      T* const out = op_.tensors.outputs[0].row(first + group_ + b * step_);
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        float in[Op::kInputs][kVec], weights[kVec], result[kVec];
        elements_of(held[b], chunk, in);
        weights_of(chunk, weights);
#pragma unroll
        for (int j = 0; j < kVec; ++j) {
          float element[Op::kInputs], added[Op::kSums];
#pragma unroll
          for (int input = 0; input < Op::kInputs; ++input) element[input] = in[input][j];
          result[j] = op_.result(element, weights[j], scale, added);
#pragma unroll
          for (int s = 0; s < Op::kSums; ++s) sums_[s][chunk][j] += added[s];
        }
        const auto packed = pack(from_float<T>(result));
        if (there && has_[chunk]) {
          if constexpr (kVec * sizeof(T) == 16) {
            ptx::store_whole(reinterpret_cast<Word<16>*>(out + column_of(chunk)), packed.words[0]);
          } else {
            store_vector(out + column_of(chunk), unpack(packed));
          }
        }
      }
    }
  }

  __device__ __forceinline__ void run_in_turn(i64 begin) {
    int stage = 0;
    i64 turn = 0;
    for (i64 first = begin; first < rows_; first += kBatch * step_, ++turn) {
      wait_for_rows<kStages - 1>();
      Held held;
      float shifts[kBatch];
      take_shifts(stage, shifts);
      take(stage, shifts, held);
      const Partial own = sums_of(held, shifts);
      if constexpr (Op::kCentred) __syncwarp();  // all lanes have read the shift
      fetch(first + kStages * kBatch * step_, stage);
      if (++stage == kStages) stage = 0;
      talk_.send(own, turn);
      write(first, held, talk_.receive(turn), shifts);
      if (kHasTotals && totals_.are_due(turn)) totals_.keep(turn, sums_);
    }
  }

  __device__ __forceinline__ void run_ahead(i64 begin) {
    int stage = 0;
    i64 turn = 0;
    const auto send = [&](i64 first, int its_stage, i64 its_turn) {
      Held held;
      float shifts[kBatch];
      take_shifts(its_stage, shifts);
      take(its_stage, shifts, held);
      talk_.send(sums_of(held, shifts), its_turn);
    };
    wait_for_rows<kStages - 1>();
    if (begin < rows_) send(begin, 0, 0);
    for (i64 first = begin; first < rows_; first += step_, ++turn) {
      const int next_stage = stage + 1 == kStages ? 0 : stage + 1;
      wait_for_rows<kStages - 2>();
      if (first + step_ < rows_) send(first + step_, next_stage, turn + 1);
      float shifts[kBatch];
      take_shifts(stage, shifts);
      const Partial whole = talk_.receive(turn);
      Held held;
      take(stage, shifts, held);
      write(first, held, whole, shifts);
      fetch(first + kStages * step_, stage);
      stage = next_stage;
      if (kHasTotals && totals_.are_due(turn)) totals_.keep(turn, sums_);
    }
  }

  // Writes the block's sums over rows: its groups' sums, added in a fixed order.
  __device__ __forceinline__ void leave_sums() {
    if (threadIdx.x == 0 && blockIdx.x == 0) *partials_.parts = parts_;
    if constexpr (kRows == 1) {
      static_assert(kStages * kBatch * Op::kInputs * sizeof(T) >= Op::kSums * 4, "the ring holds the sums");
      const auto place = [&](int s, int chunk) { return partials_.row(s, part_, parts_) + column_of(chunk); };
      __syncthreads();
      store_by_warps<true>(sums_, has_, reinterpret_cast<float*>(shared_ + kHeader), place);
    } else {
      add_groups();
    }
  }
  __device__ __forceinline__ void add_groups() {
    constexpr int kWide = kThreadsPerRow * kChunks * kVec;
    auto* const all = reinterpret_cast<float*>(shared_);
#pragma unroll
    for (int s = 0; s < Op::kSums; ++s) {
      float* const out = partials_.row(s, part_, parts_);
      __syncthreads();
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
#pragma unroll
        for (int j = 0; j < kVec; ++j) all[group_ * kWide + column_of(chunk) + j] = sums_[s][chunk][j];
      }
      __syncthreads();
      for (int c = static_cast<int>(threadIdx.x); c < kWide && c < width_; c += kThreads) {
        out[c] = sum_by_fours<kRows>([&](int g) { return all[g * kWide + c]; });
      }
    }
  }

  const Op& op_;
  const ColumnPartials& partials_;
  i64 rows_, width_;
  u8* shared_;
  Talk talk_;
  int rank_, thread_, group_;
  i64 first_column_;
  i64 part_, parts_, step_;
  Totals totals_;
  bool has_[kChunks];
  Packed<T, kVec> weights_[kChunks];
  float wide_weights_[kChunks][kVec];
  float sums_[Op::kSums][kChunks][kVec] = {};
};

template <class Config, class Op>
__device__ __forceinline__ void ring_rows(const Op& op, const ColumnPartials& partials, i64 rows, i64 cols) {
  RingRows<Config, Op>(op, partials, rows, cols).run();
}

}  // namespace tilewright::row
