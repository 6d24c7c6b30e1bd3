// SPDX-License-Identifier: Apache-2.0
#pragma once

// A tensor map as the driver encodes it (CUtensorMap): opaque to device code, passed by value as
// `const __grid_constant__ tilewright::TensorMap`, and used by address.

namespace tilewright {

struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};
static_assert(sizeof(TensorMap) == 128, "the driver's tensor maps have 128 bytes");

}  // namespace tilewright
