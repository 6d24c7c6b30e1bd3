// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cache/model/interface.hpp"
#include "cache/model/problem.hpp"

/// From the extents of a call's tensors to the op's dims, for languages whose tensors know their shapes. Stateless
/// functions.
namespace tilewright::launch {

/// An argument of a call. A scalar has no extents.
struct TensorShape {
  std::string name;
  std::span<const std::int64_t> extents;
};

/// The dims, in the op's order, that give each argument the extents of its definition. If a tensor has more extents,
/// its leading ones are multiplied: {batch, rows, cols} is {batch · rows, cols}. `arguments` are a call's tensors, in
/// call order. Throws UsageError if a tensor has fewer extents, if tensors disagree (the text says which, and where the
/// dim comes from), or if a dim is < 1 or does not follow from them.
[[nodiscard]] std::vector<std::int64_t> dims_of_tensors(const OpSpec& spec, const OpInterface& interface,
                                                        std::span<const TensorShape> arguments);

}  // namespace tilewright::launch
