// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

/// The folder of the built-in ops: the environment variable TILEWRIGHT_KERNELS_DIR, else `../share/tilewright/kernels`
/// beside the running program or library. The build tree, the install tree and the bundle all have that layout.
namespace tilewright {

/// The folder of the built-in ops, absolute and existing. Throws Error when it is not there, with the place looked at.
[[nodiscard]] std::filesystem::path kernels_dir();

/// As kernels_dir, beside the file of a program or library (in `bin`, `lib` or a folder of `lib`).
[[nodiscard]] std::filesystem::path kernels_dir_beside(const std::filesystem::path& file);

}  // namespace tilewright
