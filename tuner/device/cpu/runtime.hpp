// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/emulator/abi.h"

namespace tilewright::emulator {

/// The functions that modules call (abi.h). Each acts on the calling fiber's execution.
[[nodiscard]] const Runtime& runtime_functions() noexcept;

}  // namespace tilewright::emulator
