// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes the place of device/ptx/opaque.cuh: nothing is hidden.

namespace tilewright::ptx {

inline int opaque(int value) { return value; }

}  // namespace tilewright::ptx
