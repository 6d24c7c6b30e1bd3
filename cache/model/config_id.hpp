// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <unordered_set>

#include "cache/model/config.hpp"

/// A config of one version of its implementation's source. Trials, binaries and losses name it so. A hashable value.
namespace tilewright {

struct ConfigId {
  std::string implementation_hash;
  Config config;
  friend bool operator==(const ConfigId&, const ConfigId&) = default;
  friend auto operator<=>(const ConfigId&, const ConfigId&) = default;
};

}  // namespace tilewright

template <>
struct std::hash<tilewright::ConfigId> {
  std::size_t operator()(const tilewright::ConfigId& id) const noexcept {
    std::size_t sum = std::hash<std::string>()(id.implementation_hash);
    for (const auto& value : id.config.values) sum = sum * 31 + static_cast<std::size_t>(value.second);
    return sum;
  }
};

namespace tilewright {

using ConfigIds = std::unordered_set<ConfigId>;

}  // namespace tilewright
