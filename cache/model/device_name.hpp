// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

/// Names of this machine's GPUs: `cuda:0`, `cuda:1`…
namespace tilewright {

/// N of "cuda:N"; nullopt for any other text, "cuda" and "cuda:-1" among them.
[[nodiscard]] std::optional<int> gpu_index(std::string_view name) noexcept;

}  // namespace tilewright
