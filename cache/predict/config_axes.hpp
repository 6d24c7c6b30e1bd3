// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/model/config.hpp"

/// The positions of configs relative to each other, with an axis for each parameter and each implementation. Along a
/// parameter, a doubling of 1 + value is 1; a missing parameter counts as 0. Two implementations are ½ apart
/// (Euclidean). Values.
namespace tilewright {

class ConfigAxes {
 public:
  /// `implementation` is a hash or a name, the same kind in all calls. Call this before the first place_of().
  void add(const std::string& implementation, const Config& config);

  /// A config's position on the added axes.
  [[nodiscard]] std::vector<float> place_of(const std::string& implementation, const Config& config) const;

 private:
  void add(const std::string& name);
  [[nodiscard]] std::size_t find(const std::string& name) const;

  /// Sorted.
  std::vector<std::string> names_;
};

}  // namespace tilewright
