// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/model/records.hpp"

/// Tests whether the second of two times is slower than a rule allows, per problem, with one error rate for all
/// problems together. Pure.
namespace tilewright {

/// Written as "slower > 2 %".
struct GateRule {
  /// A share of the time.
  double slower = 0.02;
};
/// Throws UsageError if `text` is not a rule.
[[nodiscard]] GateRule parse_gate_rule(std::string_view text);

enum class GateVerdict : std::uint8_t {
  passed,     ///< not shown to be slower than the rule allows
  failed,     ///< slower than the rule allows, and significantly slower
  undecided,  ///< a side has no rounds, or two GPUs of one model were timed
};
[[nodiscard]] std::string_view name(GateVerdict verdict) noexcept;

struct GatePair {
  const Trial* a = nullptr;
  const Trial* b = nullptr;
  /// Whether both sides have the same device model. Two models may be compared, too.
  bool same_device = true;
};

struct GateJudgement {
  GateVerdict verdict = GateVerdict::passed;
  /// b's time over a's, less 1.
  double slower = 0;
  /// The probability that noise alone makes b this slow, by the widened intervals of likely(), with Holm's correction
  /// for the number of problems. Nullopt if undecided.
  std::optional<double> p{};
  /// Why it is undecided.
  std::string why{};
};

/// The largest share of A/A gates that fail.
inline constexpr double kGateErrors = 0.01;

/// In the order of the pairs. All trials must have a time.
[[nodiscard]] std::vector<GateJudgement> judge_gate(const std::vector<GatePair>& pairs, const GateRule& rule);

/// Whether to time again: undecided, or slower than the rule allows, significantly or not.
[[nodiscard]] bool is_suspect(const GateJudgement& judgement, const GateRule& rule) noexcept;

}  // namespace tilewright
