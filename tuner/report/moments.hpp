// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "cache/store/history.hpp"

namespace tilewright {

/// The moments of compilers' and devices' work, in ticks since the first work of their sweep.
class Moments {
 public:
  /// Five days of ticks fit into 32 bits.
  static constexpr std::int64_t kTickUs = 100;

  explicit Moments(const History& history);

  /// The first moment of a sweep, in microseconds; 0: nothing is known of it.
  [[nodiscard]] std::int64_t first_of(std::int64_t sweep) const;
  /// One more than the ticks; 0: not known.
  [[nodiscard]] std::uint32_t ticks(std::int64_t sweep, std::int64_t moment_us) const;

 private:
  void meet(std::int64_t sweep, std::int64_t moment_us);

  std::map<std::int64_t, std::int64_t> first_;
};

/// A bad clock must not make a page that cannot be read.
[[nodiscard]] std::uint32_t bounded(std::int64_t number);

}  // namespace tilewright
