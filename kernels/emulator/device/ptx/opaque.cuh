// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/opaque.cuh: hides nothing.

namespace tilewright::ptx {

inline int opaque(int value) { return value; }

}  // namespace tilewright::ptx
