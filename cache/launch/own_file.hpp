// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace tilewright::launch {

/// The file that this code was loaded from: libtilewright.so, or a program that links its parts. Empty if unknown.
[[nodiscard]] std::filesystem::path own_file();

}  // namespace tilewright::launch
