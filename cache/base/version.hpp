// SPDX-License-Identifier: Apache-2.0
#pragma once

// The version of Tilewright that this binary was built from, such as "0.2.0": the one of the CMake project.
// It is recorded with every trial. May be called from any thread; the text lives as long as the program.

namespace tilewright {

const char* version() noexcept;

}  // namespace tilewright
