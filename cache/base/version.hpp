// SPDX-License-Identifier: Apache-2.0
#pragma once

// The version of Tilewright that this binary was built from, such as "0.2.0": the CMake project's. Each trial records
// it. For any thread; the text lives as long as the program.

namespace tilewright {

const char* version() noexcept;

}  // namespace tilewright
