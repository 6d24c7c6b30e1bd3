// SPDX-License-Identifier: Apache-2.0
//
// Kernels for whole tensors around a measurement: random inputs, tallies that detect writes, comparison with a
// reference. Not an op: the tuner launches them itself (tuner/device/kernel_tools.cpp).
//
// Each kernel strides over its elements with the whole grid, so any grid is right. Kernels with a result write one
// tally a block, which the host merges in the order of the blocks: each run gives the same numbers. Loops are not
// unrolled: each tuning process compiles the file, and its time to compile counts more than its speed.

#include "device/config.cuh"
#include "utility/elements.cuh"
#include "utility/program.cuh"

namespace tilewright::utility {

inline constexpr int kThreads = 256;

// Merges the tallies of a block's threads in a tree; `slots[0]` then has the block's tally.
template <class Tally>
__device__ inline void merge_block(Tally mine, Tally* slots) {
  slots[threadIdx.x] = mine;
#pragma unroll 1
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) merge(slots[threadIdx.x], slots[threadIdx.x + half]);
  }
}

__device__ inline i64 first_index() { return i64{blockIdx.x} * kThreads + threadIdx.x; }
__device__ inline i64 stride() { return i64{gridDim.x} * kThreads; }

}  // namespace tilewright::utility

template <class Config>
__global__ void __launch_bounds__(256)
    fill_random(void* to, long long type, long long count, long long fill, unsigned long long key, float factor) {
  using namespace tilewright::utility;
#pragma unroll 1
  for (i64 i = first_index(); i < count; i += stride()) {
    const float value = static_cast<float>(random_integer(static_cast<Fill>(fill), key, i)) * factor;
    write_element(to, static_cast<Type>(type), i, value);
  }
}

// Fills elements by their indices (fill_element); `firsts` gets each block's first element without a value.
template <class Config>
__global__ void __launch_bounds__(256) fill_by_program(void* to, const long long* words, unsigned long long* firsts,
                                                       long long type, long long count, double scale) {
  using namespace tilewright::utility;
  __shared__ FirstWithout slots[kThreads];
  FirstWithout mine{kPoison};
#pragma unroll 1
  for (i64 i = first_index(); i < count; i += stride()) {
    if (!fill_element(to, static_cast<Type>(type), words, i, scale)) merge(mine, {static_cast<u64>(i)});
  }
  merge_block(mine, slots);
  if (threadIdx.x == 0) reinterpret_cast<FirstWithout*>(firsts)[blockIdx.x] = slots[0];
}

// Converts doubles to elements of another type, at other strides.
template <class Config>
__global__ void __launch_bounds__(256)
    round_elements(void* to, const double* from, const long long* words, long long type, long long count) {
  using namespace tilewright::utility;
#pragma unroll 1
  for (i64 i = first_index(); i < count; i += stride()) round_element(to, static_cast<Type>(type), from, words, i);
}

// Converts elements of any type to doubles.
template <class Config>
__global__ void __launch_bounds__(256) widen(const void* from, double* to, long long type, long long count) {
  using namespace tilewright::utility;
#pragma unroll 1
  for (i64 i = first_index(); i < count; i += stride()) to[i] = read_element(from, static_cast<Type>(type), i);
}

// Fills the gaps between rows: `gap` bytes after each of `rows` rows of `row` bytes, at each combination of outer
// indices. `repeats` holds the number of outer indices, then each one's extent and stride. Writes `count` bytes, each
// the byte of `word` at its address modulo 8.
template <class Config>
__global__ void __launch_bounds__(256)
    fill_gaps(unsigned char* to, const long long* repeats, long long rows, long long row, long long gap,
              long long count, unsigned long long word) {
  using namespace tilewright::utility;
#pragma unroll 1
  for (i64 i = first_index(); i < count; i += stride()) {
    i64 rest = i / gap, at = rest % rows * (row + gap) + row + i % gap;
    rest /= rows;
#pragma unroll 1
    for (i64 n = 0; n < repeats[0]; ++n) {
      at += rest % repeats[2 * n + 1] * repeats[2 * n + 2];
      rest /= repeats[2 * n + 1];
    }
    to[at] = static_cast<unsigned char>(word >> at % 8 * 8);
  }
}

template <class Config>
__global__ void __launch_bounds__(256)
    tally_words(const unsigned long long* words, unsigned long long* tallies, long long count) {
  using namespace tilewright::utility;
  __shared__ WordTally slots[kThreads];
  WordTally mine{0, 0};
#pragma unroll 1
  for (i64 i = first_index(); i < count; i += stride()) add_word(mine, words[i], i);
  merge_block(mine, slots);
  if (threadIdx.x == 0) reinterpret_cast<WordTally*>(tallies)[blockIdx.x] = slots[0];
}

template <class Config>
__global__ void __launch_bounds__(256)
    compare(const void* result, const double* reference, unsigned long long* differences, long long type,
            long long count, double absolute, double relative, double overflow, long long sampled) {
  using namespace tilewright::utility;
  __shared__ Difference slots[kThreads];
  const Bounds bounds{absolute, relative, overflow, sampled != 0};
  const Type element = static_cast<Type>(type);
  Difference mine = no_difference();
#pragma unroll 1
  for (i64 i = first_index(); i < count; i += stride()) {
    add_element(mine, read_element(result, element, i), reference[i], is_poison(result, element, i), bounds, i);
  }
  merge_block(mine, slots);
  if (threadIdx.x == 0) reinterpret_cast<Difference*>(differences)[blockIdx.x] = slots[0];
}
