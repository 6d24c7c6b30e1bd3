// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/vector.cuh"

// Cache hints of elementwise kernels, by the parameter `hints`: 0: none; 1: stores of y stream; 2: loads of inputs do
// not allocate in L1 either. Loads of an input that y may alias stay in order with the stores.

namespace tilewright::elementwise {

template <class Config>
inline constexpr Load kLoadOfFirst = Config::hints == 2 ? Load::kStreaming : Load::kDefault;

template <class Config>
inline constexpr Load kLoadOfOthers = Config::hints == 2 ? Load::kReadOnly : Load::kConstant;

template <class Config>
inline constexpr Store kStoreOfY = Config::hints == 0 ? Store::kDefault : Store::kStreaming;

}  // namespace tilewright::elementwise
