// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/mbarrier.cuh. The mbarrier's state lies in its 8 bytes of shared memory; poison means not
// initialised. A try_wait waits without limit: a phase that does not end is a deadlock.

#include "device/config.cuh"
#include "emulator/builtins/keywords.h"

namespace tilewright::ptx {

inline void mbarrier_init(u64* barrier, u32 count, TILEWRIGHT_SITE) {
  emulator::runtime->mbarrier_init(barrier, count, site);
}
inline void mbarrier_invalidate(u64* barrier, TILEWRIGHT_SITE) {
  emulator::runtime->mbarrier_invalidate(barrier, site);
}
inline void mbarrier_arrive(u64* barrier, u32 count = 1, TILEWRIGHT_SITE) {
  emulator::runtime->mbarrier_arrive(barrier, count, site);
}
inline void mbarrier_arrive_cluster(u64* barrier, u32 count = 1, TILEWRIGHT_SITE) {
  emulator::runtime->mbarrier_arrive(barrier, count, site);
}
inline void mbarrier_expect_tx(u64* barrier, u32 bytes, TILEWRIGHT_SITE) {
  emulator::runtime->mbarrier_expect_tx(barrier, bytes, site);
}
inline void mbarrier_arrive_expect_tx(u64* barrier, u32 bytes, TILEWRIGHT_SITE) {
  emulator::runtime->mbarrier_expect_tx(barrier, bytes, site);
  emulator::runtime->mbarrier_arrive(barrier, 1, site);
}
inline bool mbarrier_test_wait(u64* barrier, u32 parity, TILEWRIGHT_SITE) {
  return emulator::runtime->mbarrier_wait(barrier, parity, false, site);
}
inline bool mbarrier_try_wait(u64* barrier, u32 parity, TILEWRIGHT_SITE) {
  return emulator::runtime->mbarrier_wait(barrier, parity, true, site);
}
template <bool kCluster = false>
inline void mbarrier_wait(u64* barrier, u32 parity, TILEWRIGHT_SITE) {
  emulator::runtime->mbarrier_wait(barrier, parity, true, site);
}

}  // namespace tilewright::ptx
