// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/cluster.cuh. A block's shared memory becomes poison when its last thread exits, which exposes a
// cluster that does not wait for its readers.

#include "emulator/device/ptx/access.h"

namespace tilewright::ptx {

inline u32 cluster_rank() { return emulator::this_thread().block->rank; }
inline u32 cluster_size() {
  const auto& cluster = emulator::this_thread().launch->cluster;
  return cluster.x * cluster.y * cluster.z;
}

inline void cluster_arrive(TILEWRIGHT_SITE) { emulator::runtime->cluster_arrive(site); }
inline void cluster_wait(TILEWRIGHT_SITE) { emulator::runtime->cluster_wait(site); }
inline void cluster_sync(TILEWRIGHT_SITE) {
  cluster_arrive(site);
  cluster_wait(site);
}

template <class T>
inline T* map_shared(T* own, u32 rank, TILEWRIGHT_SITE) {
  return static_cast<T*>(emulator::runtime->map_shared(own, rank, site));
}

inline u32 load_cluster(const u32* remote, TILEWRIGHT_SITE) { return emulator::load_word(remote, site); }
inline u64 load_cluster(const u64* remote, TILEWRIGHT_SITE) { return emulator::load_word(remote, site); }
inline void store_cluster(u32* remote, u32 value, TILEWRIGHT_SITE) { emulator::store_word(remote, value, site); }
inline void store_cluster(u64* remote, u64 value, TILEWRIGHT_SITE) { emulator::store_word(remote, value, site); }

inline void store_async(u32* remote, u32 value, u64* remote_barrier, TILEWRIGHT_SITE) {
  emulator::runtime->store_async(remote, &value, sizeof value, remote_barrier, site);
}
inline void store_async(u64* remote, u64 value, u64* remote_barrier, TILEWRIGHT_SITE) {
  emulator::runtime->store_async(remote, &value, sizeof value, remote_barrier, site);
}

}  // namespace tilewright::ptx
