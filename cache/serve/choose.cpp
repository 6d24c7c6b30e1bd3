// SPDX-License-Identifier: Apache-2.0
#include "cache/serve/choose.hpp"

#include <fmt/format.h>

#include <utility>
#include <variant>

namespace tilewright {
namespace {

/// Why the plan cannot take addresses of these alignments; empty if it can.
std::string misaligned(const std::vector<PlannedArg>& args, const Alignments& alignments) {
  for (std::size_t i = 0; i < args.size() && i < alignments.size(); ++i) {
    if (args[i].role == ArgRole::scalar || args[i].alignment <= std::size_t{1} << alignments[i]) continue;
    return fmt::format("{}{} must be aligned to {} bytes, but is aligned to {}", args[i].name,
                       args[i].strides.empty() ? ""
                       : args[i].is_pitched    ? " with its pitch"
                                               : " with its strides",
                       args[i].alignment, std::size_t{1} << alignments[i]);
  }
  return {};
}

/// A candidate with its recipe and plan, or why it cannot be launched for the problem.
std::variant<PlannedWinner, std::string> plan_candidate(const WinnerSource& source, const OpInterface& interface,
                                                        const ProblemQuery& query, const Alignments& alignments,
                                                        MatchCandidate& candidate) {
  WinnerRow& row = candidate.row;
  const Config& config = row.winner.trial.config;
  auto stored = source.implementation_by_hash(row.implementation_hash);
  if (!stored) {
    throw CacheError(
        fmt::format("{} has no implementation {} for {}", source.title(), row.implementation_hash, config.text()));
  }
  const bool is_known = !query.device.name.starts_with("sm_");
  std::variant<LaunchPlan, Illegal> planned;
  try {
    planned = make_plan(interface, stored->recipe, config, query.problem, is_known ? query.device : row.device);
  } catch (const UsageError& error) {
    // A formula of a damaged row has no value for this problem.
    return error.what();
  }
  if (auto* illegal = std::get_if<Illegal>(&planned)) return std::move(illegal->reason);
  auto& plan = std::get<LaunchPlan>(planned);
  if (std::string why = misaligned(plan.args, alignments); !why.empty()) return why;
  return PlannedWinner{candidate.match, std::move(row), std::move(stored->recipe), std::move(plan),
                       candidate.expected_loss};
}

/// Takes candidates, one after the other, until one can serve.
class Choosing {
 public:
  Choosing(const WinnerSource& source, const OpInterface& interface, const ProblemQuery& query, const Needs& needs)
      : source_(source), interface_(interface), query_(query), needs_(needs) {}

  /// True if it serves; else notes why not, or that it is wanted.
  bool take(MatchCandidate& candidate) {
    if (candidate.decided && candidate.decided->kind == PinKind::ban) return refuse_banned(*candidate.decided);
    const auto refuse = [this, config = candidate.row.winner.trial.config,
                         &pin = candidate.decided](const std::string& why) {
      return pin ? give_way(*pin, why) : this->refuse(config.text(), why);
    };
    auto planned = plan_candidate(source_, interface_, query_, needs_.alignments, candidate);
    if (const auto* why = std::get_if<std::string>(&planned)) return refuse(*why);
    auto& serving = std::get<PlannedWinner>(planned);
    if (candidate.needs_compile) {
      std::optional<std::string> build = needs_.compiled(serving);
      if (!build) {
        if (!chosen_.wanted) chosen_.wanted = std::move(serving);
        return false;
      }
      if (build->empty()) return refuse("it does not compile for this problem");
      serving.row.winner.trial.build_key = std::move(*build);
    }
    if (const std::string why = needs_.obstacle ? needs_.obstacle(serving) : ""; !why.empty()) {
      return refuse(why);
    }
    chosen_.choice = std::move(serving);
    chosen_.pin = std::move(candidate.decided);
    chosen_.why.clear();
    return true;
  }

  /// Notes that a pinned config cannot serve.
  bool give_way(const Pin& pin, const std::string& why) {
    const std::string config = pin.config.config.text();
    chosen_.gave_way.push_back(fmt::format("{} is {}, but cannot serve: {}", config, pin.text(), why));
    return refuse(config, why);
  }

  [[nodiscard]] Chosen& chosen() noexcept { return chosen_; }

 private:
  /// Notes a ban once, however often its config is offered.
  bool refuse_banned(const Pin& ban) {
    for (const Pin& known : chosen_.bans) {
      if (known.config == ban.config) return false;
    }
    chosen_.bans.push_back(ban);
    return refuse(ban.config.config.text(), ban.text());
  }

  bool refuse(const std::string& config, const std::string& why) {
    chosen_.why += fmt::format("{}{}: {}", chosen_.why.empty() ? "" : "; ", config, why);
    return false;
  }

  const WinnerSource& source_;
  const OpInterface& interface_;
  const ProblemQuery& query_;
  const Needs& needs_;
  Chosen chosen_;
};

}  // namespace

Chosen choose(const WinnerSource& source, const OpInterface& interface, const ProblemQuery& query, const Needs& needs) {
  if (const std::string why = misaligned(plan_args(interface, query.problem), needs.alignments); !why.empty()) {
    throw UsageError(fmt::format("the argument {}, by the definition of {}", why, query.problem.spec.op));
  }
  Candidates candidates(source, query);
  Choosing choosing(source, interface, query, needs);
  while (std::optional<MatchCandidate> candidate = candidates.next()) {
    try {
      if (choosing.take(*candidate)) break;
    } catch (const CacheError& error) {
      candidates.pass_over(error);
    }
  }
  for (const Pin& pin : candidates.pins_without_binary()) choosing.give_way(pin, "it has no binary for this problem");
  Chosen chosen = std::move(choosing.chosen());
  if (!chosen.choice) candidates.rethrow_unread();
  chosen.unread = candidates.unread();
  return chosen;
}

}  // namespace tilewright
