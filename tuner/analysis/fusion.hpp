// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/analysis/intervals.hpp"
#include "tuner/analysis/roofline.hpp"
#include "tuner/definition/catalogue.hpp"

/// The accounting behind a fused op: what its unfused chain would move and take, what it does itself, and whether
/// fusing pays, with reasons (docs/fusion.md). Reads the cache; measures nothing.
namespace tilewright {

/// Fused it should move this much less before it is worth the work.
inline constexpr double kLeastTrafficSaved = 1.5;

/// A launch of the account: a step, or the fused op itself.
struct FusionLine {
  std::string name;
  /// Nothing: no op does it.
  std::optional<Problem> problem;
  std::int64_t bytes = 0;
  std::int64_t flops = 0;
  std::vector<std::string> parallel;
  /// Bytes that it reads for each one that it writes, as ceilings count them; nothing where no op does it.
  std::optional<int> reads{};
  /// The roofline of its op, when there is one.
  Roofline roofline;
  /// The winner's trial for exactly this problem on the device; nothing when there is none.
  std::optional<Trial> trial;
  /// The least time by the device's measured ceilings; nothing where none was measured.
  std::optional<double> predicted_ns;
  /// The part of that for computing alone.
  std::optional<double> computing_ns;
};

/// Whether one condition for fusing holds; nothing: it cannot be told.
struct FusionReason {
  std::string name;
  std::string text;
  std::optional<bool> holds;
};

struct FusionAccount {
  Problem problem;
  /// Nothing when the cache knows no device: then the account is of bytes alone.
  std::optional<DeviceFacts> device;
  MeasureMode mode = MeasureMode::cold;
  std::vector<FusionLine> steps;
  FusionLine fused;
  /// Bytes that must stay on chip by the definition, that the fused config uses, and that a block may have.
  std::optional<std::int64_t> shared_needed;
  std::optional<std::int64_t> shared_used;
  std::optional<std::int64_t> shared_available;

  [[nodiscard]] std::int64_t chain_bytes() const noexcept;
  [[nodiscard]] std::int64_t chain_flops() const noexcept;
  /// Bytes of the chain over bytes fused.
  [[nodiscard]] double traffic_ratio() const noexcept;
  /// The speed-up by the model; where nothing was measured of the device, the traffic's ratio, or nothing where
  /// computing bounds.
  [[nodiscard]] std::optional<double> predicted() const;
  /// The speed-up of the fused winner over the sum of the steps' winners; nothing unless all of them are there.
  [[nodiscard]] std::optional<SpeedUp> measured() const;
  /// Launch where launching is most of the chain's time, compute where computing is; nothing when it cannot be told.
  [[nodiscard]] std::optional<Bound> bound() const;
  /// Dims along which all steps are parallel; nothing when a step does not say.
  [[nodiscard]] std::optional<std::vector<std::string>> common_axes() const;
  [[nodiscard]] std::vector<FusionReason> reasons() const;
  /// The verdict: by a measurement that can be told from equal, else by the reasons, of which none may fail.
  [[nodiscard]] bool worth_it() const;
};

/// The account of a problem on a device. Throws UsageError when the definition has no [fusion], or no two steps for
/// this problem; DefinitionError as unfused_steps.
[[nodiscard]] FusionAccount fusion_account(const Store* store, Catalogue& catalogue, const OpDefinition& fused,
                                           const Problem& problem, const std::optional<DeviceFacts>& device,
                                           MeasureMode mode);

}  // namespace tilewright
