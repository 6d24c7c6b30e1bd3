// SPDX-License-Identifier: Apache-2.0
#include "cache/serve/fit.hpp"

#include <fmt/format.h>

#include <tuple>

namespace tilewright {

std::string_view name(Fit fit) noexcept {
  switch (fit) {
    case Fit::exact:
      return "exact";
    case Fit::nearest:
      return "nearest";
    case Fit::base_default:
      return "default";
    case Fit::none:
      break;
  }
  return "none";
}

std::string_view name(Freshness freshness) noexcept { return freshness == Freshness::fresh ? "fresh" : "stale"; }

std::string_view name(DeviceFit fit) noexcept {
  return fit == DeviceFit::same_device ? "same device" : "same architecture";
}

bool fits_better(const Match& one, const Match& other) noexcept {
  const auto rank = [](const Match& match) { return std::tuple(match.device, match.fit, !match.is_learned); };
  return rank(one) < rank(other);
}

std::string Match::text() const {
  if (fit == Fit::none) return std::string(name(fit));
  return fmt::format("{}, {}, {}", name(fit), name(freshness), name(device));
}

}  // namespace tilewright
