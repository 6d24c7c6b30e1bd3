// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "cache/store/history.hpp"

namespace tilewright {

/// Start times of compiles and trials, in ticks since the first work of their sweep.
class Moments {
 public:
  /// 32 bits hold five days of ticks.
  static constexpr std::int64_t kTickUs = 100;

  explicit Moments(const History& history);

  /// The first moment of a sweep, in microseconds; 0: unknown.
  [[nodiscard]] std::int64_t first_of(std::int64_t sweep) const;
  /// The ticks plus one; 0: unknown.
  [[nodiscard]] std::uint32_t ticks(std::int64_t sweep, std::int64_t moment_us) const;

 private:
  void meet(std::int64_t sweep, std::int64_t moment_us);

  std::map<std::int64_t, std::int64_t> first_;
};

/// Clamps to 32 bits, so that a bad clock does not make an unreadable page.
[[nodiscard]] std::uint32_t bounded(std::int64_t number);

}  // namespace tilewright
