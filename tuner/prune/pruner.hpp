// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tuner/prune/bound.hpp"

/// Prunes the configs of a problem that cannot win: before compiling by the bound of their launch plans, after it by
/// the compiler's figures. Each verdict is a reason in words and figures (docs/tuning.md). Pure.
namespace tilewright {

/// A config is left out when its bound is this many times that of the yardstick. Chosen so that no config within a
/// tenth of the best is left out in any recording.
inline constexpr double kHopelessBound = 1.3;
/// The yardstick is the config with the eighth least bound, not the one with the least: some may turn out not to
/// compile, and where there are no more than these, nothing is left out.
inline constexpr std::size_t kYardstick = 8;

/// A problem as a pruner sees it. Its pointers must be valid while a pruner is made.
struct PruneSetting {
  const OpInterface* interface = nullptr;
  const Problem* problem = nullptr;
  DeviceFacts device;
  Work work;
  /// The op's fallback, which is never left out: it must serve.
  Config base;
};

class Pruner {
 public:
  struct Entrant {
    const Config* config = nullptr;
    const ImplementationRecipe* recipe = nullptr;
  };

  /// Takes the configs that are legal.
  Pruner(const PruneSetting& setting, const std::vector<Entrant>& entrants);

  /// Why a config need not be compiled; nothing when it must be tried.
  [[nodiscard]] std::optional<std::string> before_compiling(std::size_t entrant) const;
  /// Why a config need not be measured, by what the compiler said of its kernels.
  [[nodiscard]] std::optional<std::string> after_compiling(std::size_t entrant,
                                                           const std::vector<KernelFacts>& compiled) const;
  /// The bound of a config in nanoseconds; nothing where it is not known.
  [[nodiscard]] std::optional<double> bound_ns(std::size_t entrant) const;

 private:
  struct Planned {
    std::string config;
    bool is_base = false;
    double padding = 1;
    std::vector<PlannedKernel> kernels;
    std::optional<TimeBound> bound;
  };
  [[nodiscard]] std::optional<std::string> hopeless(const std::optional<TimeBound>& bound) const;

  DeviceFacts device_;
  Work work_;
  std::vector<Planned> planned_;
  std::optional<std::size_t> yardstick_;
};

}  // namespace tilewright
