// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/model/formula/formula.hpp"
#include "cache/model/problem.hpp"

/// The launches that an op takes the place of by one: the `[fusion]` section of a definition
/// (docs/fusion.md). Values.
namespace tilewright {

class Catalogue;
struct OpDefinition;

struct FusionStep {
  std::string name;
  /// Sees attributes and `dtype`; nothing: the step is always there.
  std::optional<Formula> when{};
  /// The op that does it; empty: none here.
  std::string op{};
  /// The op's dims, by the names of the fused one.
  std::vector<std::pair<std::string, Formula>> dims{};
  /// The op's attributes: a value, or the name of an attribute of the fused op, whose value it then is.
  std::vector<std::pair<std::string, std::string>> attributes{};
  /// Nothing: as the op counts them.
  std::optional<Formula> bytes{};
  std::optional<Formula> flops{};
  /// Dims of the fused op along which the step is done piece by piece, each piece for itself; empty: not said.
  std::vector<std::string> parallel{};
  /// Its place in the definition.
  SourcePlace place{};
};

struct Fusion {
  /// In the order of their launches.
  std::vector<FusionStep> steps;
  /// Bytes that a block must keep on chip between steps, at least; nothing: not said.
  std::optional<Formula> shared_bytes{};
};

/// A step for one problem of the fused op.
struct UnfusedStep {
  const FusionStep* step = nullptr;
  /// Null where no op does it; belongs to the catalogue.
  const OpDefinition* definition = nullptr;
  std::optional<Problem> problem{};
  std::int64_t bytes = 0;
  std::int64_t flops = 0;
};

/// The steps that a problem has, in order; none where the definition names none. Throws DefinitionError, with the
/// step's place, for an op that the catalogue does not have, and for dims and attributes that are not those of the op.
[[nodiscard]] std::vector<UnfusedStep> unfused_steps(const OpDefinition& fused, const Problem& problem,
                                                     Catalogue& catalogue);

}  // namespace tilewright
