// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/model/interface.hpp"
#include "cache/model/problem.hpp"

/// The domain of an op: the formulas over dims, attributes and dtype that every call must meet. Pure.
namespace tilewright {

/// The first formula that is false, with the values of its names: "`hq % hkv == 0` is false (hq=3, hkv=2)"; empty
/// inside the domain. A formula that has no value is false, and the text says why.
[[nodiscard]] std::string outside_domain(const Problem& problem, const OpInterface& interface);

/// Throws UsageError outside the domain.
void require_domain(const Problem& problem, const OpInterface& interface);

/// Dims inside the domain that differ little from `dims`, for made-up shapes: a dim outside becomes a multiple near it,
/// or a smaller one that many domains have. `dims` themselves where they are inside; nothing where the bounded search
/// finds none.
[[nodiscard]] std::optional<ShapeDims> dims_in_domain(const OpSpec& spec, const OpInterface& interface,
                                                      std::span<const std::int64_t> dims);

}  // namespace tilewright
