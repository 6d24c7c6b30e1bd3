// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/plan/plan.hpp"
#include "cache/serve/candidates.hpp"

/// The choice of a config for a launch: the first candidate (cache/serve/candidates.hpp) that is legal for the problem
/// and for the addresses at hand. The one rule for the launch library and for what the command line says of it.
namespace tilewright {

/// Alignment of each argument's address and strides, in call order, as a power of two (3: 8 bytes). Arguments that are
/// not listed are aligned to anything.
using Alignments = std::vector<unsigned>;

/// A winner that can serve, with the plan that proves it.
struct PlannedWinner {
  Match match;
  WinnerRow row;
  ImplementationRecipe recipe;
  LaunchPlan plan;
  /// The candidate's expected loss against the fastest config, a natural logarithm.
  std::optional<double> expected_loss = std::nullopt;
};

/// The winner that serves, else `why` none does: each config with the rule that forbids it, empty without configs.
struct Chosen {
  std::optional<PlannedWinner> choice;
  std::string why;
  /// The winner that would serve if it were compiled for the problem; only if choose() is given `compiled`.
  std::optional<PlannedWinner> wanted = std::nullopt;
  /// The pin of the choice; nothing: it is not pinned.
  std::optional<Pin> pin = std::nullopt;
  /// Pinned configs that cannot serve, each with its pin and the reason.
  std::vector<std::string> gave_way = {};
  /// The bans of configs that would have served before the choice.
  std::vector<Pin> bans = {};
  /// The error of a part of the source that was passed over; empty: all was read.
  std::string unread = {};
};

/// The reason why a legal config cannot serve; empty: it can. Called for one config after the other until one can.
using Obstacle = std::function<std::string(const PlannedWinner&)>;

/// For launchers that compile: the build key of a config with dims specialised for the problem. Nothing: not built yet;
/// empty: it does not compile.
using CompiledHere = std::function<std::optional<std::string>(const PlannedWinner&)>;

/// A launch's needs of the config that serves it.
struct Needs {
  Alignments alignments{};
  Obstacle obstacle{};
  /// If given, the query is one `with_compiles`.
  CompiledHere compiled{};
};

/// Chooses the config that serves a query of an op of this interface. A device that is known by its architecture alone
/// ("sm_90") is judged as the winner's own device. Throws UsageError when an address has less alignment than every
/// caller of the op must give, and when the problem is beyond 2^63 bytes; CacheError when nothing serves and a part of
/// the source, such as a winner's implementation, could not be read.
[[nodiscard]] Chosen choose(const WinnerSource& source, const OpInterface& interface, const ProblemQuery& query,
                            const Needs& needs = {});

}  // namespace tilewright
