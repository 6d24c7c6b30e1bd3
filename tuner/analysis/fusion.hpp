// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/analysis/estimated_time.hpp"
#include "tuner/analysis/intervals.hpp"
#include "tuner/analysis/roofline.hpp"
#include "tuner/definition/catalogue.hpp"

/// Compares a fused op with its unfused chain: bytes and times of both, and whether fusing pays, with reasons
/// (docs/fusion.md). Reads the cache; measures nothing.
namespace tilewright {

/// The least ratio of chain traffic to fused traffic at which fusing is worth the work.
inline constexpr double kLeastTrafficSaved = 1.5;
/// The same of the speed-up that measured ceilings predict.
inline constexpr double kLeastPredicted = 1.05;

/// A launch of the account: a step, or the fused op.
struct FusionLine {
  std::string name;
  /// Nullopt if no op computes the step.
  std::optional<Problem> problem;
  std::int64_t bytes = 0;
  std::int64_t flops = 0;
  std::vector<std::string> parallel;
  /// Bytes read per byte written, as ceilings count them; nullopt if no op computes the step.
  std::optional<int> reads{};
  /// The roofline of the line's op, if there is one.
  Roofline roofline;
  /// The winner's trial for exactly this problem on the device; nullopt if there is none.
  std::optional<Trial> trial;
  /// The time of a winner that is not there, by the winners around; nullopt if there are too few, or one is there.
  std::optional<EstimatedTime> estimate{};
  /// The least time by the device's measured ceilings; nullopt if none was measured.
  std::optional<double> predicted_ns;
  /// Compute's part of that time.
  std::optional<double> computing_ns;

  /// The winner's time within its likely interval, else the estimate.
  [[nodiscard]] std::optional<EstimatedTime> known_time() const;
};

/// Whether one condition for fusing holds; nullopt: unknown.
struct FusionReason {
  std::string name;
  std::string text;
  std::optional<bool> holds;
  /// It tells whether time is saved, which a prediction by ceilings tells better.
  bool is_of_time = false;
};

/// The evidence of a verdict, the best first.
enum class FusionBasis : std::uint8_t {
  measured,   ///< winners of all steps and of the fused op
  estimated,  ///< the winners around for some of them
  predicted,  ///< the ceilings and the reasons
};
/// As "measured", "estimated", "predicted".
[[nodiscard]] std::string_view name(FusionBasis basis) noexcept;

enum class FusionVerdict : std::uint8_t {
  worth_it,
  either,  ///< the evidence shows no difference
  not_worth_it,
};

struct FusionAccount {
  Problem problem;
  /// Nullopt if the cache knows no device. The account then has only bytes.
  std::optional<DeviceFacts> device;
  MeasureMode mode = MeasureMode::cold;
  std::vector<FusionLine> steps;
  FusionLine fused;
  /// Bytes per block: needed on chip by the definition, used by the fused config, and available.
  std::optional<std::int64_t> shared_needed;
  std::optional<std::int64_t> shared_used;
  std::optional<std::int64_t> shared_available;

  [[nodiscard]] std::int64_t chain_bytes() const noexcept;
  [[nodiscard]] std::int64_t chain_flops() const noexcept;
  /// Bytes of the chain over bytes of the fused op.
  [[nodiscard]] double traffic_ratio() const noexcept;
  /// The sum of the steps' known times; nullopt if one has none.
  [[nodiscard]] std::optional<EstimatedTime> chain_time() const;
  /// The speed-up by the measured ceilings; nullopt if a line has none.
  [[nodiscard]] std::optional<double> predicted_by_ceilings() const;
  /// The same; without ceilings the traffic ratio, or nullopt if the chain is bound by compute.
  [[nodiscard]] std::optional<double> predicted() const;
  /// The speed-up of the fused winner over the sum of the steps' winners; nullopt unless all exist.
  [[nodiscard]] std::optional<SpeedUp> measured() const;
  /// The same with estimates where winners lack; nullopt if a line has neither, or if all are measured.
  [[nodiscard]] std::optional<SpeedUp> estimated() const;
  /// Launch if all steps are launch bound, compute if computing takes most of the chain's time; nullopt if unknown.
  [[nodiscard]] std::optional<Bound> bound() const;
  /// Dims along which all steps are parallel; nullopt if a step does not say.
  [[nodiscard]] std::optional<std::vector<std::string>> common_axes() const;
  [[nodiscard]] std::vector<FusionReason> reasons() const;
  [[nodiscard]] FusionBasis basis() const;
  /// Measured and estimated speed-ups decide by their bounds: either, if these hold 1. Else the reasons decide, none of
  /// which may fail. A prediction by ceilings stands for traffic and bound.
  [[nodiscard]] FusionVerdict verdict() const;
};

/// The account of a problem on a device. Throws UsageError if the definition has no [fusion] or fewer than two steps
/// for this problem; DefinitionError as unfused_steps().
[[nodiscard]] FusionAccount fusion_account(const Store* store, Catalogue& catalogue, const OpDefinition& fused,
                                           const Problem& problem, const std::optional<DeviceFacts>& device,
                                           MeasureMode mode);

}  // namespace tilewright
