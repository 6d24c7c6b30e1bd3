// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/model/formula/formula.hpp"
#include "cache/model/problem.hpp"

/// The launches that a fused op replaces: the `[fusion]` section of a definition (docs/fusion.md). Values.
namespace tilewright {

class Catalogue;
struct OpDefinition;

struct FusionStep {
  std::string name;
  /// Sees attributes and `dtype`; nullopt: the problem always has the step.
  std::optional<Formula> when{};
  /// The op that computes the step; empty if there is none.
  std::string op{};
  /// The step op's dims, as formulas over the fused op's names.
  std::vector<std::pair<std::string, Formula>> dims{};
  /// The step op's attributes: a value, or the name of a fused op's attribute that supplies it.
  std::vector<std::pair<std::string, std::string>> attributes{};
  /// If nullopt, the step's op counts them.
  std::optional<Formula> bytes{};
  std::optional<Formula> flops{};
  /// Dims of the fused op whose pieces the step computes independently; empty: unknown.
  std::vector<std::string> parallel{};
  /// The step's place in the definition.
  SourcePlace place{};
};

struct Fusion {
  /// In launch order.
  std::vector<FusionStep> steps;
  /// The fewest bytes that a block must keep on chip between steps; nullopt: unknown.
  std::optional<Formula> shared_bytes{};
};

/// A step of one problem of the fused op.
struct UnfusedStep {
  const FusionStep* step = nullptr;
  /// Null if no op computes the step. The catalogue owns it.
  const OpDefinition* definition = nullptr;
  std::optional<Problem> problem{};
  std::int64_t bytes = 0;
  std::int64_t flops = 0;
};

/// The problem's steps in order; empty if the definition has none. Throws DefinitionError with the step's place if the
/// catalogue lacks its op, or if the op lacks its dims or attributes.
[[nodiscard]] std::vector<UnfusedStep> unfused_steps(const OpDefinition& fused, const Problem& problem,
                                                     Catalogue& catalogue);

}  // namespace tilewright
