// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

namespace tilewright::launch {

/// The winners that serve what the user's cache cannot, if no cache is named. The file of $TILEWRIGHT_WINNERS ("off":
/// none), else the one of the first of these folders with any: `winners` beside the library (a wheel),
/// `../share/tilewright/kernels/winners` from it, the same under /usr/local and /usr. nullopt if that folder has
/// several files (kinds of GPU).
[[nodiscard]] std::optional<std::filesystem::path> shipped_winners();

}  // namespace tilewright::launch
