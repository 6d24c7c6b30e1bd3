// SPDX-License-Identifier: Apache-2.0
// Calls the functions of kernels/device/ptx. Compiled by NVRTC, so that ptxas checks each instruction, and by the host
// compiler, so that the emulator's functions take the same arguments. Included into a generated source; not run.

#include "device/config.cuh"
#include "device/ptx/barrier.cuh"
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/bulk_prefetch.cuh"
#include "device/ptx/cache_policy.cuh"
#include "device/ptx/cluster.cuh"
#include "device/ptx/cluster_relaxed.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/global_load.cuh"
#include "device/ptx/global_reduce.cuh"
#include "device/ptx/global_store.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/ptx/ldmatrix.cuh"
#include "device/ptx/math.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ptx/mbarrier_relaxed.cuh"
#include "device/ptx/mma.cuh"
#include "device/ptx/opaque.cuh"
#include "device/ptx/prefetch.cuh"
#include "device/ptx/register_count.cuh"
#include "device/ptx/stmatrix.cuh"
#include "device/ptx/stmatrix_transposed.cuh"
#include "device/ptx/store_async_wide.cuh"
#include "device/ptx/store_whole.cuh"
#include "device/ptx/tensor_copy.cuh"
#include "device/ptx/tensor_copy3.cuh"
#include "device/ptx/tensor_copy4.cuh"
#include "device/ptx/tensor_copy5.cuh"
#include "device/ptx/tensor_prefetch.cuh"
#include "device/ptx/wgmma.cuh"
#include "device/ptx/wgmma_fresh.cuh"
#include "device/ptx/wgmma_steps.cuh"
#include "device/shared.cuh"
#include "device/tensor_map.cuh"
#include "device/vector.cuh"

using namespace tilewright;
using namespace tilewright::ptx;

struct Shared {
  alignas(128) u32 tile[1024];
  u64 barrier;
};

template <class Word>
__device__ void every_access(const Word* from, Word* to) {
  store(to, load(from));
  store_streaming(to, load_read_only(from));
  store_with_policy(to, load_streaming(from), policy_evict_first());
  store_streaming(to, load_with_policy(from, policy_evict_last()));
}

template <class Config>
__global__ void on_sm_80(const float* from, float* to) {
  Shared& shared = *shared_storage<Shared>();
  cp_async<16>(shared.tile + threadIdx.x * 4, from + threadIdx.x * 4);
  cp_async<8>(shared.tile, from);
  cp_async<4>(shared.tile, from);
  cp_async_zero_fill<16>(shared.tile, from, 3);
  cp_async_zero_fill<8>(shared.tile, from, 3);
  cp_async_zero_fill<4>(shared.tile, from, 3);
  cp_async_commit();
  cp_async_wait<0>();
  barrier_sync(1, 32);
  barrier_arrive(2, 64);
  prefetch_l2(from);

  u32 a[4], b[2], one[1];
  ldmatrix_x1(one, shared.tile);
  ldmatrix_x1_trans(one, shared.tile + one[0]);
  ldmatrix_x2(b, shared.tile);
  ldmatrix_x2_trans(b, shared.tile + b[1]);
  ldmatrix_x4(a, shared.tile);
  ldmatrix_x4_trans(a, shared.tile + a[3]);
  float c[4] = {};
  mma_m16n8k16_bf16(c, a, b, c);
  mma_m16n8k16_f16(c, a, b, c);
  mma_m16n8k8_tf32(c, a, b, c);
  to[threadIdx.x] = ex2_approx(max_nan(c[0], c[1])) + tanh_approx(c[1]) + rcp_approx(lg2_approx(c[2])) +
                    rsqrt_approx(c[3]) + __uint_as_float(round_to_tf32(c[0]) + one[0]);

  every_access(reinterpret_cast<const u8*>(from), reinterpret_cast<u8*>(to));
  every_access(reinterpret_cast<const u16*>(from), reinterpret_cast<u16*>(to));
  every_access(reinterpret_cast<const u32*>(from), reinterpret_cast<u32*>(to));
  every_access(reinterpret_cast<const Bits64*>(from), reinterpret_cast<Bits64*>(to));
  every_access(reinterpret_cast<const Bits128*>(from), reinterpret_cast<Bits128*>(to));
  store_whole(reinterpret_cast<Bits64*>(to), Bits64{});
  store_whole(reinterpret_cast<Bits128*>(to), Bits128{});
  to[opaque(3)] = from[0];
}

template <class Config>
__global__ void on_sm_90(const float* from, float* to) {
  Shared& shared = *shared_storage<Shared>();
  u64* wide = reinterpret_cast<u64*>(shared.tile);
  grid_dependency_wait();
  grid_launch_dependents();
  mbarrier_init(&shared.barrier, 1);
  fence_mbarrier_init();
  cluster_arrive_relaxed();
  cluster_wait();
  cluster_sync();
  u64* remote_barrier = map_shared(&shared.barrier, 1);
  mbarrier_expect_tx(&shared.barrier, 16);
  mbarrier_arrive_expect_tx(&shared.barrier, 4096);
  mbarrier_arrive(&shared.barrier);
  mbarrier_arrive_cluster(remote_barrier, 2);
  mbarrier_arrive_cluster_relaxed(remote_barrier);
  bulk_load(shared.tile, from, 4096, &shared.barrier);
  bulk_load_with_policy(shared.tile, from, 4096, &shared.barrier, policy_evict_first());
  bulk_copy_to_cluster(map_shared(shared.tile, 1), shared.tile, 16, remote_barrier);
  store_async(map_shared(shared.tile, 1), 3u, remote_barrier);
  store_async(map_shared(wide, 1), static_cast<u64>(3), remote_barrier);
  store_async(map_shared(reinterpret_cast<Bits128*>(wide), 1), Bits128{}, remote_barrier);
  mbarrier_wait(&shared.barrier, 0);
  mbarrier_wait<true>(&shared.barrier, 1);
  while (!mbarrier_test_wait(&shared.barrier, 0) || !mbarrier_try_wait(&shared.barrier, 1)) {
  }
  mbarrier_invalidate(&shared.barrier);
  store_cluster(map_shared(shared.tile, 1), load_cluster(map_shared(shared.tile, 0)) + cluster_rank());
  store_cluster(map_shared(wide, 1), load_cluster(map_shared(wide, 0)) + cluster_size());
  const u32 registers[4] = {cluster_rank(), 1, 2, 3};
  stmatrix_x4(shared.tile + threadIdx.x * 4, registers);
  stmatrix_x4_transposed(shared.tile + threadIdx.x * 4, registers);
  fence_shared_to_async();
  bulk_store(to, shared.tile, 4096);
  reduce_add(to, 1.0f, 2.0f, 3.0f, 4.0f);
  bulk_reduce_add(to, reinterpret_cast<const float*>(shared.tile), 4096);
  bulk_commit();
  bulk_wait_read<1>();
  bulk_wait<0>();
  bulk_prefetch(from, 4096);
  cluster_arrive();
  cluster_wait();
}

template <class Config>
__global__ void __launch_bounds__(384, 1) on_sm_90a(const float* from, float* to) {
  if (threadIdx.x < 128) {
    release_registers<24>();
  } else {
    acquire_registers<240>();
  }
  to[threadIdx.x] = from[threadIdx.x];
}

// Functions that the emulator does not model.
template <class Config>
__global__ void blocks_that_wait(float* to, u32* counter) {
  add_release(counter, 1);
  to[0] = static_cast<float>(load_acquire(counter));
  fence_global_to_async();
}

template <class Config>
__global__ void tensor_copies(const __grid_constant__ TensorMap map) {
  Shared& shared = *shared_storage<Shared>();
  prefetch_map(map);
  tensor_load(shared.tile, map, 1, 2, &shared.barrier);
  tensor_load_with_policy(shared.tile, map, 1, 2, &shared.barrier, policy_evict_last());
  tensor_load_multicast(shared.tile, map, 1, 2, &shared.barrier, 3);
  tensor_store(map, 1, 2, shared.tile);
  tensor_load(shared.tile, map, BoxCorner3{1, 2, 3}, &shared.barrier);
  tensor_load(shared.tile, map, BoxCorner{1, 2, 3, 4}, &shared.barrier);
  tensor_load_with_policy(shared.tile, map, BoxCorner{1, 2, 3, 4}, &shared.barrier, policy_evict_first());
  tensor_load(shared.tile, map, BoxCorner5{1, 2, 3, 4, 5}, &shared.barrier);
  tensor_prefetch(map, BoxCorner{1, 2, 3, 4});
}

template <class T, int N, bool kTransposedA, bool kTransposedB>
__device__ void multiply(const void* tile, float* to) {
  float sums[N / 2] = {};
  const u64 descriptor = matrix_descriptor(tile, 4096, 1024);
  wgmma_fence();
  wgmma<T, N, kTransposedA, kTransposedB>(sums, descriptor, advance(descriptor, 32), true);
  wgmma_commit();
  wgmma_wait<0>();
  for (int i = 0; i < N / 2; ++i) to[i] += sums[i];
}

// Each N in steps of 8, with A from shared memory and from registers.
template <class T, int N>
__device__ void multiply_in_steps(const void* tile, float* to) {
  float sums[N / 2] = {};
  const u64 descriptor = matrix_descriptor(tile, 4096, 1024);
  const u32 a[4] = {threadIdx.x, 1, 2, 3};
  wgmma_settle(sums);
  wgmma_fence();
  wgmma_shared<T, N>(sums, descriptor, advance(descriptor, 32), true);
  wgmma_registers<T, N>(sums, a, descriptor, true);
  wgmma_commit();
  wgmma_wait<0>();
  for (int i = 0; i < N / 2; ++i) to[i] += sums[i];
  if constexpr (N < 256) multiply_in_steps<T, N + 8>(tile, to);
}

template <class T, int N>
__device__ void multiply_afresh(const void* tile, float* to) {
  float sums[N / 2];
  const u64 descriptor = matrix_descriptor(tile, 4096, 1024);
  wgmma_fence();
  wgmma_fresh<T, N, false>(sums, descriptor, descriptor);
  wgmma_fresh<T, N, true>(sums, descriptor, descriptor);
  wgmma_transposed<T, N>(sums, descriptor, descriptor);
  wgmma_commit();
  wgmma_wait<0>();
  for (int i = 0; i < N / 2; ++i) to[i] += sums[i];
}

template <class Config>
__global__ void products_in_steps(float* to) {
  Shared& shared = *shared_storage<Shared>();
  multiply_in_steps<__nv_bfloat16, 8>(shared.tile, to);
  multiply_in_steps<__half, 8>(shared.tile, to);
  multiply_afresh<__nv_bfloat16, 64>(shared.tile, to);
  multiply_afresh<__half, 80>(shared.tile, to);
  multiply_afresh<__nv_bfloat16, 96>(shared.tile, to);
  multiply_afresh<__half, 128>(shared.tile, to);
}

template <class Config>
__global__ void products(float* to) {
  Shared& shared = *shared_storage<Shared>();
  multiply<__nv_bfloat16, 64, false, true>(shared.tile, to);
  multiply<__half, 64, true, false>(shared.tile, to);
  multiply<float, 64, false, false>(shared.tile, to);
}
