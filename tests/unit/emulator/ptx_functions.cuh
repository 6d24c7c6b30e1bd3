// SPDX-License-Identifier: Apache-2.0
// Every function of kernels/device/ptx, called once: compiled by NVRTC, so that ptxas judges each instruction, and by the
// host compiler, so that the emulator's counterparts take the same arguments. Included into a generated source; never run.

#include "device/config.cuh"
#include "device/ptx/barrier.cuh"
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/cache_policy.cuh"
#include "device/ptx/cluster.cuh"
#include "device/ptx/cp_async.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/global_load.cuh"
#include "device/ptx/global_store.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/ptx/ldmatrix.cuh"
#include "device/ptx/math.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ptx/mma.cuh"
#include "device/shared.cuh"
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
}

template <class Config>
__global__ void on_sm_90(const float* from, float* to) {
  Shared& shared = *shared_storage<Shared>();
  u64* wide = reinterpret_cast<u64*>(shared.tile);
  grid_dependency_wait();
  grid_launch_dependents();
  mbarrier_init(&shared.barrier, 1);
  fence_mbarrier_init();
  cluster_sync();
  u64* remote_barrier = map_shared(&shared.barrier, 1);
  mbarrier_expect_tx(&shared.barrier, 16);
  mbarrier_arrive_expect_tx(&shared.barrier, 4096);
  mbarrier_arrive(&shared.barrier);
  mbarrier_arrive_cluster(remote_barrier, 2);
  bulk_load(shared.tile, from, 4096, &shared.barrier);
  bulk_load_with_policy(shared.tile, from, 4096, &shared.barrier, policy_evict_first());
  bulk_copy_to_cluster(map_shared(shared.tile, 1), shared.tile, 16, remote_barrier);
  store_async(map_shared(shared.tile, 1), 3u, remote_barrier);
  store_async(map_shared(wide, 1), static_cast<u64>(3), remote_barrier);
  mbarrier_wait(&shared.barrier, 0);
  mbarrier_wait<true>(&shared.barrier, 1);
  while (!mbarrier_test_wait(&shared.barrier, 0) || !mbarrier_try_wait(&shared.barrier, 1)) {
  }
  mbarrier_invalidate(&shared.barrier);
  store_cluster(map_shared(shared.tile, 1), load_cluster(map_shared(shared.tile, 0)) + cluster_rank());
  store_cluster(map_shared(wide, 1), load_cluster(map_shared(wide, 0)) + cluster_size());
  fence_shared_to_async();
  bulk_store(to, shared.tile, 4096);
  bulk_commit();
  bulk_wait_read<1>();
  bulk_wait<0>();
  cluster_arrive();
  cluster_wait();
}
