// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace tilewright {

/// The file that this code was loaded from, a program or a shared library: an absolute path, links followed. The system
/// adds " (deleted)" to the name of a deleted file. Empty if unknown: without /proc, or if no file backs the code.
[[nodiscard]] std::filesystem::path own_file();

}  // namespace tilewright
