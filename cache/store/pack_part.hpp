// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The part of a cache that goes into one pack. A value.
namespace tilewright {

struct PackPart {
  /// Row ids of an implementation and of problems: its trials of these problems, their spares, and the winners whose
  /// first is of it, with all that they need. 0: none.
  std::int64_t implementation = 0;
  std::vector<std::int64_t> problems;
  /// The models of this op. Empty: none.
  std::string models_of{};
  /// Ceilings and rates of all devices.
  bool devices = false;
};

}  // namespace tilewright
