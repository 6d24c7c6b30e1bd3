// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tuner/prune/bound.hpp"

/// Prunes a problem's configs that cannot win: before compiling by the bound of their launch plans, afterwards by the
/// compiler's figures. Each verdict is a reason in words and figures (docs/tuning.md). Pure.
namespace tilewright {

/// A config is pruned if its bound is more than this multiple of the yardstick's. Chosen so that no recording loses a
/// config within 1 % of its best (PrunedRecordings).
inline constexpr double kHopelessBound = 1.3;
/// The yardstick is the config with the eighth least bound, because some may not compile. Its bound is that of a block
/// for each piece of work, although a persistent kernel has fewer blocks: bounds may be too low, a yardstick may not.
/// With no more configs than this, none is pruned.
inline constexpr std::size_t kYardstick = 8;

/// A pruner's problem. The pointers must be valid while a pruner is made.
struct PruneSetting {
  const OpInterface* interface = nullptr;
  const Problem* problem = nullptr;
  DeviceFacts device;
  Work work;
  /// The op's fallback, which is not pruned: it must serve.
  Config base;
};

class Pruner {
 public:
  struct Entrant {
    const Config* config = nullptr;
    const ImplementationRecipe* recipe = nullptr;
  };

  /// `entrants` are the legal configs.
  Pruner(const PruneSetting& setting, const std::vector<Entrant>& entrants);

  /// Why a config need not be compiled; nullopt if it must be tried.
  [[nodiscard]] std::optional<std::string> before_compiling(std::size_t entrant) const;
  /// Why a config need not be measured, by the compiler's figures; nullopt if it must be tried.
  [[nodiscard]] std::optional<std::string> after_compiling(std::size_t entrant,
                                                           const std::vector<KernelFacts>& compiled) const;
  /// A config's bound in nanoseconds; nullopt if unknown.
  [[nodiscard]] std::optional<double> bound_ns(std::size_t entrant) const;

 private:
  struct Planned {
    std::string config;
    bool is_base = false;
    double padding = 1;
    std::vector<PlannedKernel> kernels;
    std::optional<TimeBound> bound;
    double in_waves_ns = 0;  ///< the bound as a yardstick
  };
  [[nodiscard]] std::optional<std::string> hopeless(const std::optional<TimeBound>& bound) const;

  DeviceFacts device_;
  Work work_;
  std::vector<Planned> planned_;
  std::optional<std::size_t> yardstick_;
};

}  // namespace tilewright
