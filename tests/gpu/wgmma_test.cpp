// SPDX-License-Identifier: Apache-2.0
// kernels/device/ptx/wgmma.cuh, wgmma_steps.cuh and wgmma_fresh.cuh on a GPU: tiles laid out by ordinary stores,
// against sums in fp64. The elements are small integers, so that the sums are exact.
#include <bit>

#include "tests/gpu/device_functions.hpp"

namespace tilewright::test {
namespace {

constexpr std::size_t kTileRows = 128;  // two slabs
constexpr std::size_t kSteps = 6;       // one part and a half of 128 bytes
constexpr std::size_t kWidths[] = {32, 64, 96, 128, 160, 192, 224, 256};
constexpr std::size_t kWidest = 256;

/// How products are called, and which of their tiles are transposed.
struct Form {
  bool transposed_a;
  bool transposed_b;
  /// Device source: `step<N>` does d = A B if `first`, or else d += A B.
  const char* source;
};

constexpr const char* kOfWgmma = R"cu(
#include "device/ptx/wgmma.cuh"
template <int N>
__device__ __forceinline__ void step(float (&d)[N / 2], const u32 (&)[4], u64 a, u64 b, bool first) {
  ptx::wgmma<T, N, kTransposedA, kTransposedB>(d, a, b, !first);
}
)cu";
constexpr const char* kOfShared = R"cu(
#include "device/ptx/wgmma_steps.cuh"
template <int N>
__device__ __forceinline__ void step(float (&d)[N / 2], const u32 (&)[4], u64 a, u64 b, bool first) {
  ptx::wgmma_shared<T, N>(d, a, b, !first);
}
)cu";
constexpr const char* kOfRegisters = R"cu(
#include "device/ptx/wgmma_steps.cuh"
template <int N>
__device__ __forceinline__ void step(float (&d)[N / 2], const u32 (&in_registers)[4], u64, u64 b, bool first) {
  ptx::wgmma_registers<T, N>(d, in_registers, b, !first);
}
)cu";
constexpr const char* kOfFresh = R"cu(
#include "device/ptx/wgmma_fresh.cuh"
#include "device/ptx/wgmma_steps.cuh"
template <int N>
__device__ __forceinline__ void step(float (&d)[N / 2], const u32 (&)[4], u64 a, u64 b, bool first) {
  if (first) {
    ptx::wgmma_fresh<T, N, kTransposedB>(d, a, b);
  } else if constexpr (kTransposedB) {
    ptx::wgmma_transposed<T, N>(d, a, b);
  } else {
    ptx::wgmma_shared<T, N>(d, a, b, true);
  }
}
)cu";

constexpr Form kPlain{false, false, kOfWgmma};
constexpr Form kFirstTransposed{true, false, kOfWgmma};
constexpr Form kSecondTransposed{false, true, kOfWgmma};
constexpr Form kBothTransposed{true, true, kOfWgmma};
constexpr Form kShared{false, false, kOfShared};
constexpr Form kRegisters{false, true, kOfRegisters};
constexpr Form kFresh{false, false, kOfFresh};
constexpr Form kFreshTransposed{true, true, kOfFresh};

/// D = A B, added a second time: twice the product, for each N of `widths`, one block each. `in` has A
/// (kTileRows × k) and B (kWidest × k) as floats, k fastest; the blocks' rows of `out` follow each other.
std::string products(const std::string& type, const Form& form, const std::vector<std::size_t>& widths) {
  std::string calls;
  std::size_t columns = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    calls += "  if (blockIdx.x == " + std::to_string(i) + ") multiply<" + std::to_string(widths[i]) + ">(a, b, out + " +
             std::to_string(columns * kTileRows) + ");\n";
    columns += widths[i];
  }
  const auto constant = [](const char* name, auto value) {
    return std::string("constexpr auto ") + name + " = " + std::to_string(value) + ";\n";
  };
  return "#include \"device/ptx/fence.cuh\"\n#include \"device/ptx/wgmma.cuh\"\n#include \"device/shared.cuh\"\nusing "
         "T = " +
         type + ";\n" + constant("kTransposedA", form.transposed_a) + constant("kTransposedB", form.transposed_b) +
         constant("kTileRows", kTileRows) + constant("kSteps", kSteps) + form.source + R"cu(
constexpr int kStep = 32 / sizeof(T), kDepth = kSteps * kStep, kRowBytes = 128, kSlab = 64;
__device__ void put(float* to, float value) { *to = value; }
__device__ void put(__half* to, float value) { *to = __float2half(value); }
__device__ void put(__nv_bfloat16* to, float value) { *to = __float2bfloat16(value); }
// Rows of 128 bytes, of k for one m (or n), or of m (or n) for one k; their 16-byte units are swizzled. Parts of them
// follow each other.
template <bool kTransposed> __device__ void fill(u8* tile, const float* values, int extent) {
  for (int i = threadIdx.x; i < extent * kDepth; i += blockDim.x) {
    const int outer = i / kDepth, k = i % kDepth;
    const int byte = static_cast<int>((kTransposed ? outer : k) * sizeof(T));
    const int row = byte / kRowBytes * (kTransposed ? kDepth : extent) + (kTransposed ? k : outer);
    const int unit = byte % kRowBytes / 16 ^ row % 8;
    put(reinterpret_cast<T*>(tile + row * kRowBytes + unit * 16 + byte % 16), values[i]);
  }
}
template <bool kTransposed> __device__ u32 offset(int step, int slab, int extent) {
  if (kTransposed) return (slab * kDepth + step * kStep) * kRowBytes;
  return (step / 4 * extent + slab * kSlab) * kRowBytes + step % 4 * 32;
}
// A step of A in registers, for 16-bit elements: pairs of a thread's two rows, k from 2t and from 2t + 8.
__device__ __forceinline__ void take(u32 (&to)[4], const float* a, int slab, int step) {
  if (sizeof(T) != 2) return;
  for (int i = 0; i < 4; ++i) {
    const int row = slab * kSlab + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i % 2 * 8;
    const int k = step * kStep + threadIdx.x % 4 * 2 + i / 2 * 8;
    T pair[2];
    put(pair, a[row * kDepth + k]);
    put(pair + 1, a[row * kDepth + k + 1]);
    to[i] = *reinterpret_cast<const u32*>(pair);
  }
}
template <int N> __device__ void multiply(const float* a, const float* b, u32* out) {
  constexpr int kBytesA = (kTransposedA ? kDepth * 2 : kTileRows * 2) * kRowBytes;
  u8* const tile_a = shared_storage<u8>();
  u8* const tile_b = tile_a + kBytesA;
  fill<kTransposedA>(tile_a, a, kTileRows);
  fill<kTransposedB>(tile_b, b, N);
  ptx::fence_shared_to_async();
  __syncthreads();
  const u64 first_a = ptx::matrix_descriptor(tile_a, kDepth * kRowBytes, 8 * kRowBytes);
  const u64 first_b = ptx::matrix_descriptor(tile_b, kDepth * kRowBytes, 8 * kRowBytes);
#pragma unroll 1
  for (int slab = 0; slab < 2; ++slab) {
    float d[N / 2];
    for (int i = 0; i < N / 2; ++i) d[i] = 1e6f;  // what is not added to
    u32 in_registers[kSteps][4];
#pragma unroll
    for (int at = 0; at < kSteps; ++at) take(in_registers[at], a, slab, at);
    ptx::wgmma_fence();
#pragma unroll
    for (int time = 0; time < 2; ++time) {
#pragma unroll
      for (int at = 0; at < kSteps; ++at) {
        step<N>(d, in_registers[at], ptx::advance(first_a, offset<kTransposedA>(at, slab, kTileRows)),
                ptx::advance(first_b, offset<kTransposedB>(at, 0, N)), time == 0 && at == 0);
      }
      ptx::wgmma_commit();
    }
    ptx::wgmma_wait<1>();
    ptx::wgmma_wait<0>();
    const int row = slab * kSlab + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      out[(row + i % 4 / 2 * 8) * N + i / 4 * 8 + column + i % 2] = __float_as_uint(d[i]);
    }
  }
}
template <class Config> __global__ void __launch_bounds__(128) kernel(const u32* in, u32* out) {
  const float* const a = reinterpret_cast<const float*>(in);
  const float* const b = a + kTileRows * kDepth;
)cu" + calls +
         "}\n";
}

class Wgmma : public DeviceFunctions {
 protected:
  /// `junk` fills the bits of an element that tf32 ignores.
  void expect_products(const std::string& type, std::size_t depth, const Form& form,
                       const std::vector<std::size_t>& widths, std::uint32_t junk = 0) {
    std::vector<double> values;
    Words in;
    for (const std::uint32_t word : random_words((kTileRows + kWidest) * depth)) {
      values.push_back(static_cast<double>(word % 16) - 8);
      in.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(values.back())) | (word >> 8 & junk));
    }
    std::size_t columns = 0;
    for (const std::size_t width : widths) columns += width;
    constexpr std::uint32_t kSharedBytes = 1024 * 100;  // two parts of A's rows and of the widest B's
    const Launch launch{.blocks = static_cast<unsigned>(widths.size()), .threads = 128, .shared_bytes = kSharedBytes};
    run_on_gpu(products(type, form, widths), launch, in, columns * kTileRows, {}, [&](const Words& out) {
      const std::uint32_t* next = out.data();
      for (const std::size_t width : widths) {
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < kTileRows * width; ++i) {
          const double* const a = values.data() + i / width * depth;
          const double* const b = values.data() + (kTileRows + i % width) * depth;
          double sum = 0;
          for (std::size_t k = 0; k < depth; ++k) sum += a[k] * b[k];
          if (static_cast<double>(std::bit_cast<float>(*next++)) != 2 * sum) ++wrong;
        }
        EXPECT_EQ(wrong, 0U) << "of " << kTileRows << " x " << width << " elements";
      }
    });
  }

  /// Of both types of 16 bits.
  void expect_16_bits(const Form& form, const std::vector<std::size_t>& widths) {
    expect_products("__nv_bfloat16", 16 * kSteps, form, widths);
    expect_products("__half", 16 * kSteps, form, widths);
  }
};

const std::vector<std::size_t> kAll(std::begin(kWidths), std::end(kWidths));
/// Whole parts of n.
const std::vector<std::size_t> kWhole{64, 128, 192, 256};
/// Steps of 8: less than a part of n, parts and a rest, and widths that wgmma.cuh has too.
const std::vector<std::size_t> kEights{8, 16, 24, 40, 64, 72, 80, 88, 104, 136, 184, 200, 216, 248, 256};
const std::vector<std::size_t> kOfFreshWidths{64, 80, 96, 128};

TEST_F(Wgmma, of_bf16_is_right_for_every_width) { expect_products("__nv_bfloat16", 16 * kSteps, kPlain, kAll); }
TEST_F(Wgmma, of_f16_is_right_for_every_width) { expect_products("__half", 16 * kSteps, kPlain, kAll); }
TEST_F(Wgmma, of_tf32_is_right_for_every_width_and_ignores_the_lower_bits) {
  constexpr std::uint32_t kBelowTf32 = 0x1fff;
  expect_products("float", 8 * kSteps, kPlain, kAll, kBelowTf32);
}
TEST_F(Wgmma, of_a_transposed_is_right_for_every_width) { expect_16_bits(kFirstTransposed, kAll); }
TEST_F(Wgmma, of_b_transposed_is_right_for_every_width_of_whole_parts) { expect_16_bits(kSecondTransposed, kWhole); }
TEST_F(Wgmma, of_both_transposed_is_right_for_every_width_of_whole_parts) { expect_16_bits(kBothTransposed, kWhole); }

TEST_F(Wgmma, of_both_in_shared_memory_is_right_for_widths_in_steps_of_8) { expect_16_bits(kShared, kEights); }
TEST_F(Wgmma, of_a_in_registers_and_b_transposed_is_right_for_widths_in_steps_of_8) {
  expect_16_bits(kRegisters, kEights);
}
TEST_F(Wgmma, that_begins_a_sum_leaves_nothing_of_what_was_there) { expect_16_bits(kFresh, kOfFreshWidths); }
TEST_F(Wgmma, of_both_transposed_begins_and_adds_to_a_sum) { expect_16_bits(kFreshTransposed, kOfFreshWidths); }

}  // namespace
}  // namespace tilewright::test
