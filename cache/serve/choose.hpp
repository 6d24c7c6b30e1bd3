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

/// Alignment of an argument's address, and of its strides where it has any, as a power of two (3: 8 bytes), for each
/// argument in call order; those that are not given are aligned to anything.
using Alignments = std::vector<unsigned>;

/// A winner that can serve, with the plan that proves it.
struct PlannedWinner {
  Match match;
  WinnerRow row;
  ImplementationRecipe recipe;
  LaunchPlan plan;
  /// As of the candidate: by how much slower than the fastest it is expected to be, a natural logarithm.
  std::optional<double> expected_loss = std::nullopt;
};

/// The winner that serves; else `why` not: each config with the rule that forbids it, empty when there is no config.
struct Chosen {
  std::optional<PlannedWinner> choice;
  std::string why;
  /// The winner that would serve, had it been compiled for the problem; only where choose() is given `compiled`.
  std::optional<PlannedWinner> wanted = std::nullopt;
  /// The pin for which it serves before all else; nothing: it is not pinned.
  std::optional<Pin> pin = std::nullopt;
  /// Pinned configs that cannot serve: each with its pin and why.
  std::vector<std::string> gave_way = {};
  /// Of configs that would have served before, had they not been banned.
  std::vector<Pin> bans = {};
  /// The part of the source that could not be read and was passed over; empty: none.
  std::string unread = {};
};

/// Why a config that is legal cannot serve all the same; empty: it can. Asked of one after the other until one can.
using Obstacle = std::function<std::string(const PlannedWinner&)>;

/// For launchers that compile: the build key of a config whose dims are specialised for the problem; nothing while
/// there is no build, empty where it does not compile.
using CompiledHere = std::function<std::optional<std::string>(const PlannedWinner&)>;

/// A launch's needs of the config that serves it.
struct Needs {
  Alignments alignments{};
  Obstacle obstacle{};
  /// If given, the query is one `with_compiles`.
  CompiledHere compiled{};
};

/// `query` is of an op of this interface. Throws UsageError when an address is aligned to less than every caller of the
/// op must give, and when the problem is beyond 2^63 bytes; CacheError where nothing serves and something could not be
/// read, a winner's implementation for one. Of a device that is known by its architecture alone ("sm_90") nothing can
/// be judged: the winner's own stands for it.
[[nodiscard]] Chosen choose(const WinnerSource& source, const OpInterface& interface, const ProblemQuery& query,
                            const Needs& needs = {});

}  // namespace tilewright
