// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

/// The folder of the built-in ops: the environment variable TILEWRIGHT_KERNELS_DIR, else `../share/tilewright/kernels`
/// beside the running program or library. The build tree, the install tree and the bundle share this layout.
namespace tilewright {

/// The folder of the built-in ops, an absolute path. Throws Error with the place searched if it does not exist.
[[nodiscard]] std::filesystem::path kernels_dir();

/// As kernels_dir(), but beside `file`, a program or library (in `bin`, `lib` or a folder of `lib`).
[[nodiscard]] std::filesystem::path kernels_dir_beside(const std::filesystem::path& file);

}  // namespace tilewright
