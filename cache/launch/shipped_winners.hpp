// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

namespace tilewright::launch {

/// The winners that serve what the user's cache cannot, where nobody named a cache: the file of $TILEWRIGHT_WINNERS
/// ("off": none), else the one of the first of these folders that has any: `winners` beside the library (a wheel),
/// `../share/tilewright/kernels/winners` from it, the same under /usr/local and /usr. Nothing where that folder has
/// those of several kinds of GPU.
[[nodiscard]] std::optional<std::filesystem::path> shipped_winners();

}  // namespace tilewright::launch
