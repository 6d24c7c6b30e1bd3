// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cache/model/interface.hpp"
#include "cache/model/problem.hpp"

/// From the extents of a call's tensors to the dims of the op, for languages whose tensors know their shapes. Functions
/// without state.
namespace tilewright::launch {

/// An argument of a call. A scalar has no extents.
struct TensorShape {
  std::string name;
  std::span<const std::int64_t> extents;
};

/// The dims, in the op's order, with which every argument has the extents that the definition gives it. A tensor of
/// more extents than that is taken as one whose leading extents are multiplied: {batch, rows, cols} as {batch · rows,
/// cols}. `arguments` are those of every call of the op, in call order. Throws UsageError when a tensor has fewer
/// extents, when tensors disagree (the text says which, and where the dim comes from), and when a dim is < 1 or cannot
/// be told from them.
[[nodiscard]] std::vector<std::int64_t> dims_of_tensors(const OpSpec& spec, const OpInterface& interface,
                                                        std::span<const TensorShape> arguments);

}  // namespace tilewright::launch
