// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/plan/plan.hpp"
#include "cache/serve/candidates.hpp"

/// Chooses the config for a launch: the first candidate (cache/serve/candidates.hpp) that is legal for the problem and
/// for the addresses at hand. Launch library and command line share this rule. For one thread at a time.
namespace tilewright {

/// Alignment of each argument's address and strides, in call order, as a power of two (3: 8 bytes). Arguments that are
/// not listed count as fully aligned.
using Alignments = std::vector<unsigned>;

/// A winner that can serve, with its plan as the proof.
struct PlannedWinner {
  Match match;
  WinnerRow row;
  ImplementationRecipe recipe;
  LaunchPlan plan;
  /// The candidate's expected loss against the fastest config, a natural logarithm.
  std::optional<double> expected_loss = std::nullopt;
};

/// The winner that serves, else `why` none does: each config with the rule that forbids it; empty without configs.
struct Chosen {
  std::optional<PlannedWinner> choice;
  std::string why;
  /// The winner that would serve if it were compiled for the problem; only if choose() is given `compiled`.
  std::optional<PlannedWinner> wanted = std::nullopt;
  /// The pin of the choice; nullopt if it is not pinned.
  std::optional<Pin> pin = std::nullopt;
  /// Pinned configs that cannot serve, each with its pin and the reason.
  std::vector<std::string> gave_way = {};
  /// The bans of configs that would have served before the choice.
  std::vector<Pin> bans = {};
  /// The error of a part of the source that was skipped; empty if all was read.
  std::string unread = {};
};

/// Why a legal config cannot serve; empty if it can. Called for one config after the other until one can.
using Obstacle = std::function<std::string(const PlannedWinner&)>;

/// For launchers that compile: the build key of a config with dims specialised for the problem. nullopt: not built yet;
/// empty: it does not compile.
using CompiledHere = std::function<std::optional<std::string>(const PlannedWinner&)>;

/// A launch's requirements on its config.
struct Needs {
  Alignments alignments{};
  Obstacle obstacle{};
  /// Set if and only if the query is `with_compiles`.
  CompiledHere compiled{};
};

/// Chooses the config that serves a query of an op of this interface. A device known only by its architecture ("sm_90")
/// is judged as the winner's own device. A config that cannot be planned, as by a damaged row, gives way. Throws
/// UsageError if an address has less alignment than all callers of the op must give, or if the problem is beyond 2^63-1
/// bytes; CacheError if nothing serves and a part of the source, such as a winner's implementation, could not be read.
[[nodiscard]] Chosen choose(const WinnerSource& source, const OpInterface& interface, const ProblemQuery& query,
                            const Needs& needs = {});

}  // namespace tilewright
