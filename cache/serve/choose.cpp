// SPDX-License-Identifier: Apache-2.0
#include "cache/serve/choose.hpp"

#include <fmt/format.h>

#include <utility>
#include <variant>

namespace tilewright {
namespace {

/// Why the plan cannot take addresses of these alignments; empty when it can.
std::string misaligned(const std::vector<PlannedArg>& args, const Alignments& alignments) {
  for (std::size_t i = 0; i < args.size() && i < alignments.size(); ++i) {
    if (args[i].role == ArgRole::scalar || args[i].alignment <= std::size_t{1} << alignments[i]) continue;
    return fmt::format("{}{} must be aligned to {} bytes and is to {}", args[i].name,
                       args[i].strides.empty() ? ""
                       : args[i].is_pitched    ? " with its pitch"
                                               : " with its strides",
                       args[i].alignment, std::size_t{1} << alignments[i]);
  }
  return {};
}

/// A candidate with its recipe and plan, or why it cannot be launched for the problem.
std::variant<PlannedWinner, std::string> plan_candidate(const WinnerSource& source, const OpInterface& interface,
                                                        const Problem& problem, const DeviceFacts& device,
                                                        const Alignments& alignments, MatchCandidate& candidate) {
  WinnerRow& row = candidate.row;
  const Config& config = row.winner.trial.config;
  auto stored = source.implementation_by_hash(row.implementation_hash);
  if (!stored) {
    throw CacheError(
        fmt::format("{} has no implementation {} for {}", source.title(), row.implementation_hash, config.text()));
  }
  const bool is_known = !device.name.starts_with("sm_");
  auto planned = make_plan(interface, stored->recipe, config, problem, is_known ? device : row.device);
  if (auto* illegal = std::get_if<Illegal>(&planned)) return std::move(illegal->reason);
  auto& plan = std::get<LaunchPlan>(planned);
  if (std::string why = misaligned(plan.args, alignments); !why.empty()) return why;
  return PlannedWinner{candidate.match, std::move(row), std::move(stored->recipe), std::move(plan)};
}

}  // namespace

Chosen choose(const WinnerSource& source, const OpInterface& interface, const Problem& problem,
              const DeviceFacts& device, const Versions& versions, const Alignments& alignments,
              const Obstacle& obstacle, const CompiledHere& compiled, const Match* better_than) {
  if (const std::string why = misaligned(plan_args(interface, problem), alignments); !why.empty()) {
    throw UsageError(fmt::format("the argument {}, by the definition of {}", why, problem.spec.op));
  }
  Chosen chosen;
  const auto refuse = [&](const std::string& config, const std::string& why) {
    chosen.why += fmt::format("{}{}: {}", chosen.why.empty() ? "" : "; ", config, why);
    return false;
  };
  const auto take = [&](MatchCandidate& candidate) {
    const std::string config = candidate.row.winner.trial.config.text();
    auto planned = plan_candidate(source, interface, problem, device, alignments, candidate);
    if (const auto* why = std::get_if<std::string>(&planned)) return refuse(config, *why);
    auto& serving = std::get<PlannedWinner>(planned);
    if (candidate.needs_compile) {
      std::optional<std::string> build = compiled(serving);
      if (!build) {
        if (!chosen.wanted) chosen.wanted = std::move(serving);
        return false;
      }
      if (build->empty()) return refuse(config, "it does not compile for this problem");
      serving.row.winner.trial.build_key = std::move(*build);
    }
    if (const std::string why = obstacle ? obstacle(serving) : ""; !why.empty()) return refuse(config, why);
    chosen.choice = std::move(serving);
    return true;
  };
  chosen.unread = offer_candidates(source, problem, interface.hash(), device, versions, {}, take,
                                   static_cast<bool>(compiled), better_than);
  if (chosen.choice) chosen.why.clear();
  return chosen;
}

}  // namespace tilewright
