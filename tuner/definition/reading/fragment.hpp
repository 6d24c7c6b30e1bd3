// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tuner/definition/reading/mistakes.hpp"
#include "tuner/definition/reading/sources.hpp"
#include "tuner/definition/reading/toml_tree.hpp"

/// Fragments: files that hold what several implementations have in common, such as the space of a skeleton that many
/// ops use. An implementation takes one in with `extends`.
namespace tilewright::reading {

/// `table`, an `[[implementation]]`, with what the fragment that it names has and it has not. Tables are merged key by
/// key and kernels one by one, where the implementation's own values win; its constraints follow the fragment's.
/// Without `extends`, the table as it is. Nothing, and a mistake, when there is no such fragment.
[[nodiscard]] std::optional<Node> extended(const Node& table, Sources& sources, Mistakes& mistakes);

/// Gives `params`, the op's, to the kernels of an implementation that have none; whether there are any.
bool give_params(Node& table, const Member& params);

}  // namespace tilewright::reading
