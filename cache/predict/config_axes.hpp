// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/model/config.hpp"

/// The places of configs among each other, with an axis for each parameter and each implementation. Along a parameter a
/// doubling of 1 + value is 1; a parameter that a config lacks counts as 0. Two implementations are ½ apart
/// (Euclidean). Values.
namespace tilewright {

class ConfigAxes {
 public:
  /// `implementation` is its hash or its name: which, is the caller's choice, the same in all calls. Before the first
  /// place_of().
  void add(const std::string& implementation, const Config& config);

  /// A config's place on the added axes.
  [[nodiscard]] std::vector<float> place_of(const std::string& implementation, const Config& config) const;

 private:
  void add(const std::string& name);
  [[nodiscard]] std::size_t find(const std::string& name) const;

  /// In order.
  std::vector<std::string> names_;
};

}  // namespace tilewright
