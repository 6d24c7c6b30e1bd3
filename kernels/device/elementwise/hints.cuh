// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/vector.cuh"

// How elementwise kernels move their tensors, by the parameter `hints`: 0, as the hardware would; 1, y is not kept in
// the caches; 2, neither are inputs in L1. Loads of an input that y may be stay in order with the stores.

namespace tilewright::elementwise {

template <class Config>
inline constexpr Load kLoadOfFirst = Config::hints == 2 ? Load::kStreaming : Load::kDefault;

template <class Config>
inline constexpr Load kLoadOfOthers = Config::hints == 2 ? Load::kReadOnly : Load::kConstant;

template <class Config>
inline constexpr Store kStoreOfY = Config::hints == 0 ? Store::kDefault : Store::kStreaming;

}  // namespace tilewright::elementwise
