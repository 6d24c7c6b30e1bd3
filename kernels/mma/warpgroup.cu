// SPDX-License-Identifier: Apache-2.0
//
// Chains of wgmma. A warpgroup has 64 rows of a, and block_n columns at a time; operands are in shared memory, swizzled
// by 128 bytes, sums in registers:
//
//   copy the block's rows of a and all of b ── for each block_n columns: add their product to the sums `steps` times
//
// A chain waits for nothing: the tensor cores add product after product to the same sums. Several blocks share an SM,
// so that one multiplies while another copies or sums up.
//
// Shared memory: (64 · warpgroups + 256) · 128 bytes. sm_90a only.

#include "device/ptx/fence.cuh"
#include "device/ptx/wgmma.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"
#include "rows.cuh"

namespace tilewright::mma_chains {

constexpr int kWarpgroup = 128;
constexpr int kWarpgroupRows = 64;

template <class Config>
struct Storage {
  alignas(1024) unsigned char a[Config::warpgroups * kWarpgroupRows * kRowBytes];
  alignas(1024) unsigned char b[kColumns * kRowBytes];
};

// Copies kCount rows from `from` on to a swizzled tile; zeros after the first `there`. All threads of the block call.
template <class T, int kThreads, int kCount>
__device__ __forceinline__ void copy_rows(unsigned char* tile, const T* from, i64 there) {
  constexpr int kUnit = 16, kUnits = kRowBytes / kUnit;
  static_assert(kCount * kUnits % kThreads == 0, "threads share units evenly");
#pragma unroll
  for (int i = 0; i < kCount * kUnits / kThreads; ++i) {
    const int at = i * kThreads + static_cast<int>(threadIdx.x);
    const int row = at / kUnits, unit = at % kUnits;
    Vector<u32, 4> words{};
    if (row < there) words = load_vector<4>(reinterpret_cast<const u32*>(from) + at * 4);
#pragma unroll
    for (int word = 0; word < 4; ++word) words[word] = operand<T>(words[word]);
    store_vector(reinterpret_cast<u32*>(tile + row * kRowBytes + (unit ^ row % 8) * kUnit), words);
  }
}

}  // namespace tilewright::mma_chains

template <class Config>
__global__ void __launch_bounds__(Config::warpgroups * 128)
    mma_warpgroup(const typename Config::dtype* a, const typename Config::dtype* b, float* y, long long rows,
                  long long steps) {
  using namespace tilewright;
  using namespace tilewright::mma_chains;
  using T = typename Config::dtype;
  constexpr int kThreads = Config::warpgroups * kWarpgroup;
  constexpr int kBlockRows = Config::warpgroups * kWarpgroupRows;
  constexpr int kN = Config::block_n;
  constexpr u32 kEightRows = 8 * kRowBytes;
  static_assert(kColumns % kN == 0, "columns are whole tiles");
  auto& storage = *shared_storage<Storage<Config>>();
  const int warpgroup = __shfl_sync(kFullMask, static_cast<int>(threadIdx.x) / kWarpgroup, 0);
  const int warp = static_cast<int>(threadIdx.x) % kWarpgroup / kWarpSize;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;

  copy_rows<T, kThreads, kColumns>(storage.b, b, kColumns);
  for (i64 first = i64{blockIdx.x} * kBlockRows; first < rows; first += i64{gridDim.x} * kBlockRows) {
    __syncthreads();
    copy_rows<T, kThreads, kBlockRows>(storage.a, a + first * (kRowBytes / static_cast<int>(sizeof(T))), rows - first);
    ptx::fence_shared_to_async();
    __syncthreads();

    const u64 tile_a =
        ptx::matrix_descriptor(storage.a + warpgroup * kWarpgroupRows * kRowBytes, kEightRows, kEightRows);
    float upper = 0.0F, lower = 0.0F;  // sums over rows g and g + 8 of the warp's 16
#pragma unroll 1
    for (int column = 0; column < kColumns; column += kN) {
      const u64 tile_b = ptx::matrix_descriptor(storage.b + column * kRowBytes, kEightRows, kEightRows);
      float sums[kN / 2] = {};
#pragma unroll 1
      for (i64 step = 0; step < steps; ++step) {
        ptx::wgmma_fence();
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          ptx::wgmma<T, kN, false, false>(sums, ptx::advance(tile_a, part * 32), ptx::advance(tile_b, part * 32), true);
        }
        ptx::wgmma_commit();
        ptx::wgmma_wait<1>();
      }
      ptx::wgmma_wait<0>();
#pragma unroll
      for (int i = 0; i < kN / 2; i += 4) {
        upper += sums[i] + sums[i + 1];
        lower += sums[i + 2] + sums[i + 3];
      }
    }

    upper = over_quad(upper);
    lower = over_quad(lower);
    const i64 row = first + warpgroup * kWarpgroupRows + warp * 16 + lane / 4;
    if (lane % 4 == 0 && row < rows) y[row] = upper;
    if (lane % 4 == 0 && row + 8 < rows) y[row + 8] = lower;
  }
}
