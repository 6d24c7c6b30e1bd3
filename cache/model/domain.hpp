// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/model/interface.hpp"
#include "cache/model/problem.hpp"

/// The domain of an op: formulas over dims, attributes and dtype that all calls must satisfy. Pure.
namespace tilewright {

/// The first formula that is false, with the values of its names: "`hq % hkv == 0` is false (hq=3, hkv=2)"; empty
/// inside the domain. A formula without a value counts as false, and the text says why.
[[nodiscard]] std::string outside_domain(const Problem& problem, const OpInterface& interface);

/// Throws UsageError if the problem is outside the domain.
void require_domain(const Problem& problem, const OpInterface& interface);

/// Dims inside the domain that are near `dims`, for made-up shapes. A dim outside becomes a multiple near it, or a
/// smaller value that many domains have. Returns `dims` if they are inside; nullopt if the bounded search finds none.
[[nodiscard]] std::optional<ShapeDims> dims_in_domain(const OpSpec& spec, const OpInterface& interface,
                                                      std::span<const std::int64_t> dims);

}  // namespace tilewright
