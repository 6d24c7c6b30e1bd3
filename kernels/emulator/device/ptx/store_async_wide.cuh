// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/store_async_wide.cuh.

#include "emulator/device/ptx/access.h"

namespace tilewright::ptx {

inline void store_async(Bits128* remote, Bits128 value, u64* remote_barrier, TILEWRIGHT_SITE) {
  emulator::check_alignment(remote, sizeof value, "16-byte store", site);
  // The runtime moves values of up to 8 bytes.
  emulator::runtime->store_async(remote, &value, 8, remote_barrier, site);
  emulator::runtime->store_async(&remote->z, &value.z, 8, remote_barrier, site);
}

}  // namespace tilewright::ptx
