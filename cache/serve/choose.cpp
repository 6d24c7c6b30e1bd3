// SPDX-License-Identifier: Apache-2.0
#include "cache/serve/choose.hpp"

#include <fmt/format.h>

#include <utility>

namespace tilewright {
namespace {

/// Why the plan cannot take addresses of these alignments; empty when it can.
std::string misaligned(const std::vector<PlannedArg>& args, const Alignments& alignments) {
  for (std::size_t i = 0; i < args.size() && i < alignments.size(); ++i) {
    if (args[i].role == ArgRole::scalar || args[i].alignment <= std::size_t{1} << alignments[i]) continue;
    return fmt::format("{}{} must be aligned to {} bytes and is to {}", args[i].name,
                       args[i].pitch ? " with its pitch" : "", args[i].alignment, std::size_t{1} << alignments[i]);
  }
  return {};
}

}  // namespace

Chosen choose(const WinnerSource& source, const OpInterface& interface, const Problem& problem,
              const DeviceFacts& device, const Versions& versions, const Alignments& alignments,
              const Obstacle& obstacle, const CompiledHere& compiled, const Match* better_than) {
  if (const std::string why = misaligned(plan_args(interface, problem), alignments); !why.empty()) {
    throw UsageError(fmt::format("the argument {}, by the definition of {}", why, problem.spec.op));
  }
  const bool is_known = !device.name.starts_with("sm_");
  Chosen chosen;
  const auto take = [&](MatchCandidate& candidate) {
    WinnerRow& row = candidate.row;
    const std::string config = row.winner.trial.config.text();
    auto stored = source.implementation_by_hash(row.implementation_hash);
    if (!stored) {
      throw CacheError(
          fmt::format("{} has no implementation {} for {}", source.title(), row.implementation_hash, config));
    }
    auto planned =
        make_plan(interface, stored->recipe, row.winner.trial.config, problem, is_known ? device : row.device);
    std::string why;
    if (const auto* illegal = std::get_if<Illegal>(&planned)) {
      why = illegal->reason;
    } else {
      why = misaligned(std::get<LaunchPlan>(planned).args, alignments);
    }
    if (why.empty()) {
      Serving serving{candidate.match, std::move(row), std::move(stored->recipe),
                      std::get<LaunchPlan>(std::move(planned))};
      if (candidate.needs_compile) {
        std::optional<std::string> build = compiled(serving);
        if (!build) {
          if (!chosen.wanted) chosen.wanted = std::move(serving);
          return false;
        }
        if (build->empty()) why = "it does not compile for this problem";
        serving.row.winner.trial.build_key = std::move(*build);
      }
      if (why.empty() && obstacle) why = obstacle(serving);
      if (why.empty()) chosen.choice = std::move(serving);
    }
    if (chosen.choice) return true;
    chosen.why += fmt::format("{}{}: {}", chosen.why.empty() ? "" : "; ", config, why);
    return false;
  };
  chosen.unread = offer_candidates(source, problem, interface.hash(), device, versions, {}, take,
                                   static_cast<bool>(compiled), better_than);
  if (chosen.choice) chosen.why.clear();
  return chosen;
}

}  // namespace tilewright
