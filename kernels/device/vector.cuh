// SPDX-License-Identifier: Apache-2.0
#pragma once

// N elements of T that move together: N is a power of two, up to 32 bytes. A vector of up to 16 bytes moves by one
// instruction and needs an address aligned to its size; 32 bytes take two, aligned to 16.
//
//   auto v = load_vector<Config::vec, Load::kStreaming>(x + i);
//   v[0] = …;
//   store_vector<Store::kStreaming>(y + i, v);

#include "device/bits.cuh"
#include "device/ptx/cache_policy.cuh"
#include "device/ptx/global_load.cuh"
#include "device/ptx/global_store.cuh"

namespace tilewright {

// How a load uses the caches. All but kDefault are for global memory.
enum class Load {
  kDefault,     // in L1 and L2, from any memory
  kConstant,    // in L1; nothing may write that memory while the kernel runs, and the compiler may load early
  kReadOnly,    // past L1, with 256 bytes fetched into L2; nothing may write that memory while the kernel runs
  kStreaming,   // past L1; right for kernels that work in place too
  kEvictFirst,  // will not be read again
  kEvictLast,   // will be read again soon
};

enum class Store {
  kDefault,     // to any memory
  kStreaming,   // st.cs: not soon read
  kEvictFirst,  // leaves L2 first
  kEvictLast,   // stays in L2, for the next kernel
};

template <class T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Vector {
  static_assert(N > 0 && (N & (N - 1)) == 0, "a vector's length is a power of two");
  static_assert(N * sizeof(T) <= 32, "a vector has at most 32 bytes");
  enum : int {  // and not static members, which NVRTC would keep in every binary
    kSize = N,
    kBytes = static_cast<int>(N * sizeof(T)),
    kWordBytes = kBytes < 16 ? kBytes : 16,
    kWords = kBytes / kWordBytes,
  };

  T elements[N];

  __device__ __forceinline__ T& operator[](int i) { return elements[i]; }
  __device__ __forceinline__ const T& operator[](int i) const { return elements[i]; }
};

namespace detail {

template <Load How, class W>
__device__ __forceinline__ W load_word(const W* address) {
  if constexpr (How == Load::kConstant) {
    return ptx::load_constant(address);
  } else if constexpr (How == Load::kReadOnly) {
    return ptx::load_read_only(address);
  } else if constexpr (How == Load::kStreaming) {
    return ptx::load_streaming(address);
  } else if constexpr (How == Load::kEvictFirst) {
    return ptx::load_with_policy(address, ptx::policy_evict_first());
  } else if constexpr (How == Load::kEvictLast) {
    return ptx::load_with_policy(address, ptx::policy_evict_last());
  } else {
    return ptx::load(address);
  }
}

template <Store How, class W>
__device__ __forceinline__ void store_word(W* address, W value) {
  if constexpr (How == Store::kStreaming) {
    ptx::store_streaming(address, value);
  } else if constexpr (How == Store::kEvictFirst) {
    ptx::store_with_policy(address, value, ptx::policy_evict_first());
  } else if constexpr (How == Store::kEvictLast) {
    ptx::store_with_policy(address, value, ptx::policy_evict_last());
  } else {
    ptx::store(address, value);
  }
}

}  // namespace detail

// A vector as the words in which it moves. Values that wait in registers in this form are not split into 16-bit
// elements at branches.
template <class T, int N>
struct Packed {
  Word<Vector<T, N>::kWordBytes> words[Vector<T, N>::kWords];
};

template <class T, int N>
__device__ __forceinline__ Packed<T, N> pack(const Vector<T, N>& vector) {
  return __builtin_bit_cast(Packed<T, N>, vector);
}

template <class T, int N>
__device__ __forceinline__ Vector<T, N> unpack(const Packed<T, N>& packed) {
  return __builtin_bit_cast(Vector<T, N>, packed);
}

template <int N, Load How = Load::kDefault, class T>
__device__ __forceinline__ Packed<T, N> load_packed(const T* address) {
  Packed<T, N> packed;
  const auto* words = reinterpret_cast<const Word<Vector<T, N>::kWordBytes>*>(address);
#pragma unroll
  for (int i = 0; i < Vector<T, N>::kWords; ++i) packed.words[i] = detail::load_word<How>(words + i);
  return packed;
}

template <int N, Load How = Load::kDefault, class T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* address) {
  return unpack(load_packed<N, How>(address));
}

template <Store How = Store::kDefault, class T, int N>
__device__ __forceinline__ void store_vector(T* address, const Vector<T, N>& value) {
  const auto moved = pack(value);
  auto* words = reinterpret_cast<Word<Vector<T, N>::kWordBytes>*>(address);
#pragma unroll
  for (int i = 0; i < Vector<T, N>::kWords; ++i) detail::store_word<How>(words + i, moved.words[i]);
}

}  // namespace tilewright
