// SPDX-License-Identifier: Apache-2.0
#include "cache/model/device_name.hpp"

#include <charconv>

namespace tilewright {

std::optional<int> gpu_index(std::string_view name) noexcept {
  constexpr std::string_view kPrefix = "cuda:";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size());
  int index = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || stop != digits.data() + digits.size() || index < 0) return std::nullopt;
  return index;
}

}  // namespace tilewright
