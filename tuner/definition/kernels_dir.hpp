// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

/// The folder of the built-in ops: the environment variable TILEWRIGHT_KERNELS_DIR, else `../share/tilewright/kernels`
/// beside the program or library that holds this code. The build tree, the install tree and the bundle share this
/// layout.
namespace tilewright {

/// The folder of the built-in ops, an absolute path. Throws Error with the place searched if it does not exist.
[[nodiscard]] std::filesystem::path kernels_dir();

}  // namespace tilewright
