// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tuner/search/dense.hpp"
#include "tuner/search/strategy.hpp"

/// What is expected of the candidates of a problem, and how sure that is, learned from the trials of other problems of
/// the op and from its own (docs/tuning.md): a Gaussian process over parameters, shapes and how tiles fill the device.
namespace tilewright {

class Surrogate {
 public:
  /// Learns from `space.known`; what it keeps depends on nothing else of `space` afterwards.
  explicit Surrogate(const SearchSpace& space);

  /// Of each candidate, how promising it is: the logarithm of its slowness as expected, less what it might be better
  /// by; the least promises most. `told`: the problem's own trials, by candidate. `chosen`: what will be told besides,
  /// of which only that is known: what is like it is less of a surprise then.
  [[nodiscard]] std::vector<double> promise(const std::vector<std::optional<Trial>>& told,
                                            const std::vector<std::size_t>& chosen = {}) const;

 private:
  /// Before anything of the problem itself is known: what is expected of the candidates, and their covariance.
  std::vector<double> mean_;
  Matrix covariance_;
};

}  // namespace tilewright
