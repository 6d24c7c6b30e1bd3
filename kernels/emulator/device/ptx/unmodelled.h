// SPDX-License-Identifier: Apache-2.0
#pragma once

// For the functions that the emulator has not: a kernel that calls one does not compile for it, and reads why. They are
// templates, so that a header with them can be included, and a template that is never used may name them.

namespace tilewright::emulator {

template <class...>
inline constexpr bool kIsModelled = false;

}  // namespace tilewright::emulator
