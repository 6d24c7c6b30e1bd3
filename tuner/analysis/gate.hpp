// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/model/records.hpp"

/// Whether the second of two times is slower by more than a change may cost: problem by problem, with an error rate of
/// all problems together. Pure.
namespace tilewright {

/// "slower > 2 %".
struct GateRule {
  /// A share of the time.
  double slower = 0.02;
};
/// Throws UsageError for what is no such rule.
[[nodiscard]] GateRule parse_gate_rule(std::string_view text);

enum class GateVerdict : std::uint8_t {
  passed,     ///< not shown to be slower by more than the rule allows
  failed,     ///< slower by more, and that it is slower is significant
  undecided,  ///< a side has no rounds, or the two were timed on two GPUs of one model
};
[[nodiscard]] std::string_view name(GateVerdict verdict) noexcept;

struct GatePair {
  const Trial* a = nullptr;
  const Trial* b = nullptr;
  /// Both sides are of one device model. Two models may be compared, too.
  bool same_device = true;
};

struct GateJudgement {
  GateVerdict verdict = GateVerdict::passed;
  /// b's time over a's, less 1.
  double slower = 0;
  /// The chance that noise alone makes b so slow, by the widened intervals of speed_up(), corrected for the number of
  /// problems (Holm). Nothing where undecided.
  std::optional<double> p{};
  /// Why it is undecided.
  std::string why{};
};

/// The largest share of A/A gates that fail.
inline constexpr double kGateErrors = 0.01;

/// In the order of the pairs. Each trial has a time.
[[nodiscard]] std::vector<GateJudgement> judge_gate(const std::vector<GatePair>& pairs, const GateRule& rule);

/// Worth to be timed again: undecided, or slower by more than the rule allows, whether or not that is significant.
[[nodiscard]] bool is_suspect(const GateJudgement& judgement, const GateRule& rule) noexcept;

}  // namespace tilewright
