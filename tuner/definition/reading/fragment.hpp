// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tuner/definition/reading/mistakes.hpp"
#include "tuner/definition/reading/sources.hpp"
#include "tuner/definition/reading/toml_tree.hpp"

/// Fragments: files with the parts that several implementations share, such as the space of a skeleton that many ops
/// use. An implementation includes one with `extends`.
namespace tilewright::reading {

/// `table`, an `[[implementation]]`, merged with the fragment that it names. Tables are merged key by key, kernels one
/// by one; the implementation's values win. Its constraints follow the fragment's. Without `extends`, returns `table`
/// unchanged. If the fragment cannot be found: nullopt and a mistake.
[[nodiscard]] std::optional<Node> extended(const Node& table, Sources& sources, Mistakes& mistakes);

/// Gives the op's `params` to the kernels that have none. Returns whether there were any.
bool give_params(Node& table, const Member& params);

}  // namespace tilewright::reading
