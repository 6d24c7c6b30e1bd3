// SPDX-License-Identifier: Apache-2.0
#pragma once

// For functions that the emulator lacks: a kernel that calls one fails to compile with a message. They are templates,
// so that their header can be included and unused templates may name them.

namespace tilewright::emulator {

template <class...>
inline constexpr bool kIsModelled = false;

}  // namespace tilewright::emulator
