// SPDX-License-Identifier: Apache-2.0
#include "tuner/analysis/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "cache/base/error.hpp"
#include "tuner/analysis/intervals.hpp"

namespace tilewright {
namespace {

/// Standard deviations in half a 95 % interval.
constexpr double kOf95 = 1.959964;

/// Standard deviation of a time's logarithm, from its widened interval.
double deviation(const Trial& trial) {
  const Likely interval = likely(trial);
  return std::log(interval.high_ns / interval.low_ns) / (2 * kOf95);
}

/// The probability that noise alone makes b this slow.
double chance(const Trial& a, const Trial& b) {
  const double slower = std::log(b.timing->median_ns / a.timing->median_ns);
  return std::erfc(slower / std::hypot(deviation(a), deviation(b)) / std::sqrt(2.0)) / 2;
}

std::string why_undecided(const GatePair& pair) {
  for (const auto& [side, trial] : {std::pair('A', pair.a), std::pair('B', pair.b)}) {
    if (trial->timing->rounds_ns.empty()) return fmt::format("{} has no rounds", side);
  }
  if (pair.same_device && pair.a->gpu_uuid != pair.b->gpu_uuid) return "timed on two GPUs of one model";
  return {};
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

}  // namespace

GateRule parse_gate_rule(std::string_view text) {
  std::string_view rest = trimmed(text);
  const auto take = [&](std::string_view word) {
    const bool there = rest.starts_with(word);
    if (there) rest = trimmed(rest.substr(word.size()));
    return there;
  };
  double percent = 0;
  if (take("slower") && take(">")) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), percent);
    if (error == std::errc() && percent >= 0 && percent < 1e6) {
      rest = trimmed(rest.substr(static_cast<std::size_t>(end - rest.data())));
      if (rest == "%") return {percent / 100};
    }
  }
  throw UsageError(fmt::format("--fail-if '{}' is not a rule: write 'slower > 2 %', with any number", text));
}

std::string_view name(GateVerdict verdict) noexcept {
  return verdict == GateVerdict::passed ? "passed" : verdict == GateVerdict::failed ? "failed" : "undecided";
}

std::vector<GateJudgement> judge_gate(const std::vector<GatePair>& pairs, const GateRule& rule) {
  std::vector<GateJudgement> judgements(pairs.size());
  std::vector<std::size_t> decided;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    GateJudgement& of = judgements[i];
    of.slower = pairs[i].b->timing->median_ns / pairs[i].a->timing->median_ns - 1;
    of.why = why_undecided(pairs[i]);
    if (!of.why.empty()) {
      of.verdict = GateVerdict::undecided;
      continue;
    }
    of.p = chance(*pairs[i].a, *pairs[i].b);
    decided.push_back(i);
  }
  // Holm: the k-th smallest is multiplied by the number of those not smaller, and is at least its predecessor.
  std::stable_sort(decided.begin(), decided.end(),
                   [&](std::size_t left, std::size_t right) { return *judgements[left].p < *judgements[right].p; });
  double before = 0;
  for (std::size_t k = 0; k < decided.size(); ++k) {
    GateJudgement& of = judgements[decided[k]];
    before = std::max(before, std::min(1.0, *of.p * static_cast<double>(decided.size() - k)));
    of.p = before;
    if (before <= kGateErrors && of.slower > rule.slower) of.verdict = GateVerdict::failed;
  }
  return judgements;
}

bool is_suspect(const GateJudgement& judgement, const GateRule& rule) noexcept {
  return judgement.verdict != GateVerdict::passed || judgement.slower > rule.slower;
}

}  // namespace tilewright
