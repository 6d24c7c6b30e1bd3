// SPDX-License-Identifier: Apache-2.0
// The device headers on a GPU and on the emulator: the same source with the same input must give the same bits. Exact
// values or rounding remove the differences allowed (the last bits of approximations, the order of sums).
#include "tests/gpu/device_functions.hpp"

namespace tilewright::test {
namespace {

TEST_F(DeviceFunctions, every_16_bit_value_widens_and_narrows_to_the_same_bits) {
  expect_same(R"cu(
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  const float half = __half2float(__ushort_as_half(static_cast<u16>(i)));
  const float wide = __bfloat162float(__ushort_as_bfloat16(static_cast<u16>(i)));
  // NaN's payload is nobody's promise.
  out[2 * i] = half != half ? 1 : __float_as_uint(half);
  out[2 * i + 1] = wide != wide ? 1 : __float_as_uint(wide);
})cu",
              {.blocks = 256, .threads = 256}, {}, 1 << 17);
}

TEST_F(DeviceFunctions, floats_narrow_and_16_bit_arithmetic_rounds_to_the_same_bits) {
  expect_same(R"cu(
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = __uint_as_float(in[i]);
  const u16 low = in[i] & 0xffff, high = in[i] >> 16;
  const __half a = __ushort_as_half(low), b = __ushort_as_half(high);
  const __nv_bfloat16 c = __ushort_as_bfloat16(low), d = __ushort_as_bfloat16(high);
  const u32 halves[4] = {__half_as_ushort(__float2half_rn(x)), __half_as_ushort(__hadd(a, b)),
                         __half_as_ushort(__hmul(a, b)), __half_as_ushort(__hfma(a, b, a))};
  const u32 wides[4] = {__bfloat16_as_ushort(__float2bfloat16_rn(x)), __bfloat16_as_ushort(__hadd(c, d)),
                        __bfloat16_as_ushort(__hmul(c, d)), __bfloat16_as_ushort(__hfma(c, d, c))};
  for (int k = 0; k < 4; ++k) out[4 * i + k] = halves[k] | wides[k] << 16;
})cu",
              {.blocks = 64, .threads = 256}, random_words(1 << 14), 1 << 16);
}

TEST_F(DeviceFunctions, warp_functions_agree) {
  expect_same(R"cu(
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  const u32 lane = threadIdx.x, v = in[lane], full = 0xffffffffu;
  u32* mine = out + lane;
  int same = 0;
  mine[0] = __shfl_xor_sync(full, v, 13);
  mine[32] = __shfl_up_sync(full, v, 5, 16);
  mine[64] = __shfl_down_sync(full, v, 5, 16);
  mine[96] = __shfl_sync(full, v, 45);
  mine[128] = __shfl_xor_sync(full, v, 12, 8);
  mine[160] = __ballot_sync(full, v & 1);
  mine[192] = __any_sync(full, v == in[3]);
  mine[224] = __all_sync(full, v == in[3]);
  mine[256] = __match_any_sync(full, v & 3);
  mine[288] = __match_all_sync(full, 5, &same) + same;
  mine[320] = __reduce_add_sync(full, v);
  mine[352] = __reduce_max_sync(full, static_cast<int>(v));
  mine[384] = __reduce_xor_sync(full, v);
  mine[416] = static_cast<u32>(__shfl_xor_sync(full, static_cast<u64>(v) << 20, 1) >> 10);
  mine[448] = __byte_perm(v, in[lane ^ 1], 0xf6b1) + __funnelshift_l(v, in[0], 7) + __umulhi(v, in[1]) + __brev(v);
  mine[480] = __syncthreads_count(v & 1) + (__syncthreads_and(v & 1) << 8) + (__syncthreads_or(v & 1) << 9);
})cu",
              {}, random_words(32), 512);
}

TEST_F(DeviceFunctions, vectors_move_with_every_hint) {
  expect_same(R"cu(
#include "device/vector.cuh"
template <int kVec, Load kLoad, Store kStore, class T>
__device__ void move(const u32* in, u32*& out) {
  const T* from = reinterpret_cast<const T*>(in) + threadIdx.x * kVec;
  store_vector<kStore>(reinterpret_cast<T*>(out) + threadIdx.x * kVec, load_vector<kVec, kLoad>(from));
  out += 32 * 8;
}
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  move<8, Load::kReadOnly, Store::kStreaming, float>(in, out);
  move<4, Load::kStreaming, Store::kEvictFirst, float>(in, out);
  move<2, Load::kEvictFirst, Store::kEvictLast, float>(in, out);
  move<1, Load::kEvictLast, Store::kDefault, float>(in, out);
  move<8, Load::kStreaming, Store::kStreaming, __half>(in, out);
  move<2, Load::kReadOnly, Store::kEvictFirst, __half>(in, out);
  move<1, Load::kReadOnly, Store::kStreaming, __half>(in, out);
  move<1, Load::kEvictFirst, Store::kEvictLast, unsigned char>(in, out);
})cu",
              {}, random_words(256), 8 * 256);
}

TEST_F(DeviceFunctions, ldmatrix_and_mma_agree_on_small_integers) {
  expect_same(R"cu(
#include "device/ptx/ldmatrix.cuh"
#include "device/ptx/mma.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  u32* shared = shared_storage<u32>();
  for (int i = threadIdx.x; i < 32 * 12; i += 32) shared[i] = in[i];
  __syncthreads();
  const u32* row = shared + threadIdx.x * 12;  // 48 bytes apart
  u32 loaded[6][4] = {};
  u32 one[1], two[2];
  ptx::ldmatrix_x4(loaded[0], row);
  ptx::ldmatrix_x4_trans(loaded[1], row);
  ptx::ldmatrix_x2(two, row);
  loaded[2][0] = two[0], loaded[2][1] = two[1];
  ptx::ldmatrix_x2_trans(two, row);
  loaded[3][0] = two[0], loaded[3][1] = two[1];
  ptx::ldmatrix_x1(one, row);
  loaded[4][0] = one[0];
  ptx::ldmatrix_x1_trans(one, row);
  loaded[5][0] = one[0];
  for (int i = 0; i < 24; ++i) out[threadIdx.x * 36 + i] = loaded[i / 4][i % 4];
  // Small integers: exact in all three types, and so are their sums.
  const auto small = [](u32 bits) { return static_cast<float>(static_cast<int>(bits & 15) - 7); };
  const auto half = [&](u32 bits) { return static_cast<u32>(__half_as_ushort(__float2half(small(bits)))); };
  const auto wide = [&](u32 bits) { return static_cast<u32>(__bfloat16_as_ushort(__float2bfloat16(small(bits)))); };
  u32 a[3][4], b[3][2];
  float d[3][4];
  for (int i = 0; i < 6; ++i) {
    const u32 v = in[threadIdx.x * 6 + i];
    u32(&type0) = i < 4 ? a[0][i] : b[0][i - 4];
    u32(&type1) = i < 4 ? a[1][i] : b[1][i - 4];
    u32(&type2) = i < 4 ? a[2][i] : b[2][i - 4];
    type0 = half(v) | half(v >> 4) << 16;
    type1 = wide(v) | wide(v >> 4) << 16;
    type2 = ptx::round_to_tf32(small(v));
  }
  for (int i = 0; i < 12; ++i) d[i / 4][i % 4] = small(in[threadIdx.x + i]);
  ptx::mma_m16n8k16_f16(d[0], a[0], b[0], d[0]);
  ptx::mma_m16n8k16_bf16(d[1], a[1], b[1], d[1]);
  ptx::mma_m16n8k8_tf32(d[2], a[2], b[2], d[2]);
  for (int i = 0; i < 12; ++i) out[threadIdx.x * 36 + 24 + i] = __float_as_uint(d[i / 4][i % 4]);
})cu",
              {.shared_bytes = 32 * 48}, random_words(32 * 12), 32 * 36);
}

TEST_F(DeviceFunctions, cp_async_of_every_size_copies_and_fills) {
  expect_same(R"cu(
#include "device/ptx/barrier.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  u32* shared = shared_storage<u32>();
  const int t = threadIdx.x;
  ptx::cp_async<16>(shared + 4 * t, in + 4 * t);
  ptx::cp_async_commit();
  ptx::cp_async<8>(shared + 512 + 2 * t, in + 2 * t);
  ptx::cp_async<4>(shared + 768 + t, in + t);
  ptx::cp_async_zero_fill<16>(shared + 896 + 4 * t, in + 4 * t, t % 17);
  ptx::cp_async_zero_fill<8>(shared + 1408 + 2 * t, in + 2 * t, 0);
  ptx::cp_async_zero_fill<4>(shared + 1664 + t, in + t, t % 5);
  ptx::cp_async_commit();
  ptx::cp_async_wait<0>();
  ptx::barrier_sync(1, 128);
  for (int i = t; i < 1792; i += 128) out[i] = shared[(i + 777) % 1792];
})cu",
              {.threads = 128, .shared_bytes = 1792 * 4}, random_words(512), 1792);
}

TEST_F(DeviceFunctions, a_pipeline_of_bulk_copies_and_mbarriers_agrees) {
  expect_same(R"cu(
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/shared.cuh"
struct Shared {
  alignas(128) u32 tile[2][256];
  alignas(128) u32 out[256];
  u64 full[2], empty[2];
};
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  Shared& shared = *shared_storage<Shared>();
  constexpr int kSteps = 16;
  const int t = threadIdx.x;
  ptx::grid_dependency_wait();
  if (t == 0) {
    for (int s = 0; s < 2; ++s) {
      ptx::mbarrier_init(&shared.full[s], 1);
      ptx::mbarrier_init(&shared.empty[s], 256);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (t >= 256) {
    if (t == 256) {
      for (int step = 0; step < kSteps; ++step) {
        const int s = step % 2;
        ptx::mbarrier_wait(&shared.empty[s], (step / 2 & 1) ^ 1);
        ptx::mbarrier_arrive_expect_tx(&shared.full[s], 1024);
        ptx::bulk_load(shared.tile[s], in + step * 256, 512, &shared.full[s]);
        ptx::bulk_load_with_policy(shared.tile[s] + 128, in + step * 256 + 128, 512, &shared.full[s],
                                   0x12f0000000000000ull);
      }
    }
  } else {
    u32 sum = 0;
    for (int step = 0; step < kSteps; ++step) {
      const int s = step % 2;
      ptx::mbarrier_wait(&shared.full[s], step / 2 & 1);
      sum = sum * 3 + shared.tile[s][255 - t];
      ptx::mbarrier_arrive(&shared.empty[s]);
    }
    shared.out[t] = sum;
    ptx::fence_shared_to_async();
  }
  __syncthreads();
  if (t == 0) {
    ptx::bulk_store(out, shared.out, 512);
    ptx::bulk_commit();
    ptx::bulk_store(out + 128, shared.out + 128, 512);
    ptx::bulk_commit();
    ptx::bulk_wait_read<0>();
    ptx::bulk_wait<0>();
  }
  ptx::grid_launch_dependents();
})cu",
              {.threads = 288, .shared_bytes = 4096}, random_words(16 * 256), 256);
}

TEST_F(DeviceFunctions, blocks_of_a_cluster_reach_each_other_in_every_way) {
  expect_same(R"cu(
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/cluster.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/shared.cuh"
struct Shared {
  alignas(128) u32 own[64];
  alignas(128) u32 copied[64];
  u64 sent[8];
  u32 sent_small[8];
  u32 stored[64];
  u64 barrier, arrivals;
};
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  Shared& shared = *shared_storage<Shared>();
  const u32 t = threadIdx.x, rank = ptx::cluster_rank(), size = ptx::cluster_size();
  const u32 next = (rank + 1) % size;
  shared.own[t] = in[blockIdx.x * 64 + t];
  ptx::fence_shared_to_async();
  if (t == 0) {
    ptx::mbarrier_init(&shared.barrier, 1);
    ptx::mbarrier_init(&shared.arrivals, 2 * size);
    ptx::mbarrier_arrive_expect_tx(&shared.barrier, 256 + 12 * size);
    ptx::fence_mbarrier_init();
  }
  ptx::cluster_sync();
  if (t < size) {
    ptx::store_async(ptx::map_shared(&shared.sent[rank], t), static_cast<u64>(in[t]) << 32 | rank,
                     ptx::map_shared(&shared.barrier, t));
    ptx::store_async(ptx::map_shared(&shared.sent_small[rank], t), in[rank] + t, ptx::map_shared(&shared.barrier, t));
    ptx::mbarrier_arrive_cluster(ptx::map_shared(&shared.arrivals, t), 2);
  }
  if (t == 0) {
    ptx::bulk_copy_to_cluster(ptx::map_shared(&shared.copied[0], next), shared.own, 256,
                              ptx::map_shared(&shared.barrier, next));
  }
  ptx::store_cluster(ptx::map_shared(&shared.stored[t], next), rank * 1000 + t);
  while (!ptx::mbarrier_test_wait(&shared.arrivals, 0)) {
  }
  ptx::mbarrier_wait<true>(&shared.barrier, 0);
  ptx::cluster_arrive();
  u32* mine = out + blockIdx.x * 64 * 5 + t;
  mine[0] = shared.copied[t];
  mine[64] = t < size ? static_cast<u32>(shared.sent[t] ^ shared.sent[t] >> 32) + shared.sent_small[t] : 0;
  ptx::cluster_wait();
  mine[128] = shared.stored[t];
  mine[192] = ptx::load_cluster(ptx::map_shared(&shared.own[63 - t], next));
  mine[256] = *ptx::map_shared(&shared.own[t], next) + static_cast<u32>(ptx::load_cluster(
      ptx::map_shared(&shared.sent[t % size], next)));
  ptx::cluster_sync();
})cu",
              {.blocks = 16, .threads = 64, .cluster = 8, .shared_bytes = sizeof(std::uint32_t) * 400},
              random_words(16 * 64), 16 * 64 * 5);
}

TEST_F(DeviceFunctions, approximations_are_near_the_accurate_functions) {
  // Both must give the verdict 255: all results are within their bounds.
  expect_same(R"cu(
#include "device/ptx/math.cuh"
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  const float x = 0.125f + 0.37f * static_cast<float>(threadIdx.x);
  const auto near = [](float approximate, float exact) { return fabsf(approximate - exact) <= 3e-6f * fabsf(exact); };
  out[threadIdx.x] = near(ptx::ex2_approx(x), exp2f(x)) | near(ptx::ex2_approx(-x), exp2f(-x)) << 1 |
                     (fabsf(ptx::lg2_approx(x) - log2f(x)) < 1e-5f) << 2 | near(ptx::rcp_approx(x), 1.0f / x) << 3 |
                     near(ptx::rsqrt_approx(x), rsqrtf(x)) << 4 | (fabsf(ptx::tanh_approx(x) - tanhf(x)) < 1e-3f) << 5 |
                     (ptx::ex2_approx(-200.0f) == 0.0f) << 6 | (ptx::ex2_approx(-kInfinity) == 0.0f) << 7;
})cu",
              {.threads = 256}, {}, 256);
}

}  // namespace
}  // namespace tilewright::test
