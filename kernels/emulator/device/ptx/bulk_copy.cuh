// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/bulk_copy.cuh: the destination is poison until the copy lands. A load lands when a wait on its
// mbarrier asks for the current phase. A store lands at the wait for its group; it reads its source then, or at
// bulk_wait_read.

#include "device/config.cuh"
#include "emulator/builtins/keywords.h"

namespace tilewright::ptx {

inline void bulk_load(void* shared, const void* global, u32 bytes, u64* barrier, TILEWRIGHT_SITE) {
  emulator::runtime->bulk_load(shared, global, bytes, barrier, site);
}
inline void bulk_load_with_policy(void* shared, const void* global, u32 bytes, u64* barrier, u64, TILEWRIGHT_SITE) {
  emulator::runtime->bulk_load(shared, global, bytes, barrier, site);
}
inline void bulk_copy_to_cluster(void* remote, const void* shared, u32 bytes, u64* remote_barrier, TILEWRIGHT_SITE) {
  emulator::runtime->bulk_load(remote, shared, bytes, remote_barrier, site);
}
inline void bulk_store(void* global, const void* shared, u32 bytes, TILEWRIGHT_SITE) {
  emulator::runtime->bulk_store(global, shared, bytes, site);
}
inline void bulk_commit() { emulator::runtime->bulk_commit(); }
template <int kGroupsLeft>
inline void bulk_wait() {
  emulator::runtime->bulk_wait(kGroupsLeft, false);
}
template <int kGroupsLeft>
inline void bulk_wait_read() {
  emulator::runtime->bulk_wait(kGroupsLeft, true);
}

}  // namespace tilewright::ptx
