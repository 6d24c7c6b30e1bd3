// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/model/records.hpp"

/// Shapes of made-up ops whose times depend on one quantity, for tests of learning from trials.
namespace tilewright::test {

inline ConfigSummary config(const std::string& text, double median_ns, std::optional<WinnerRole> role = std::nullopt) {
  return {{"impl", Config::parse(text)}, median_ns, role, false};
}

inline const std::string kSmall = "tiled{block=64}";
inline const std::string kLarge = "tiled{block=256}";

/// Two dims: the winner depends on m, not on n.
inline std::vector<ShapeSummary> of_m_alone() {
  std::vector<ShapeSummary> known;
  for (const std::int64_t m : {64, 4096}) {
    for (const std::int64_t n : {64, 1024, 16384}) {
      const bool small = m == 64;
      known.push_back(
          {{m, n}, {config(small ? kSmall : kLarge, 100, WinnerRole::best), config(small ? kLarge : kSmall, 300)}});
    }
  }
  return known;
}

/// The logarithm of the padding: a block covers `block` elements.
inline double by_blocks(const ConfigId& id, std::span<const std::int64_t> dims) {
  const auto block = static_cast<double>(id.config.value_or("block", 1));
  return std::log(std::ceil(static_cast<double>(dims[0]) / block) * block / static_cast<double>(dims[0]));
}

/// Three similar lengths whose times depend on the padding alone.
inline std::vector<ShapeSummary> of_padding(double power) {
  std::vector<ShapeSummary> known;
  for (const std::int64_t n : {192, 200, 256}) {
    const auto timed = [&](const std::string& text) {
      const double padding = std::exp(by_blocks({"", Config::parse(text)}, std::vector<std::int64_t>{n}));
      return config(text, 100 * std::pow(padding, power));
    };
    known.push_back({{n}, {timed("tiled{block=64}"), timed("tiled{block=128}"), timed("tiled{block=100}")}});
  }
  return known;
}

}  // namespace tilewright::test
