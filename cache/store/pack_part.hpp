// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The part of a cache that goes into one pack. A value.
namespace tilewright {

struct PackPart {
  /// Row ids of problems and of an implementation: its trials of these problems, their spares, and the winners of which
  /// the first is of it, with all that they rest on. 0: none.
  std::int64_t implementation = 0;
  std::vector<std::int64_t> problems;
  /// The models of this op. Empty: none.
  std::string models_of{};
  /// Ceilings and rates of all devices.
  bool devices = false;
};

}  // namespace tilewright
