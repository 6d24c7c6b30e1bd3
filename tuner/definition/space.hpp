// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cache/model/device_facts.hpp"
#include "cache/plan/plan.hpp"
#include "tuner/definition/definition.hpp"

/// Parameter spaces: the configs of a definition that are worth compiling for a problem.
namespace tilewright {

struct Candidate {
  Config config;
  const Implementation* implementation = nullptr;
};

struct Expansion {
  /// Legal for this problem and device: implementations in the definition's order, the last parameter fastest.
  std::vector<Candidate> legal;
  /// How many configs each rule forbids ("constraint `cols % vec == 0`" → 96). Each config counts for one rule.
  std::map<std::string, std::size_t> forbidden;
  /// The size of the whole space.
  std::size_t total = 0;
};

/// All configs that make_plan finds legal. Constraints are evaluated in order, so one that cannot be evaluated is no
/// error after a false one. The result points into `definition`.
[[nodiscard]] Expansion expand(const OpDefinition& definition, const Problem& problem, const DeviceFacts& device);

/// Explains why no config serves the problem on this device: a line per implementation with the rules that forbid its
/// configs, the most frequent first. For problems without legal configs.
[[nodiscard]] std::string refusals(const OpDefinition& definition, const Problem& problem, const DeviceFacts& device);
/// The same of the configs with these texts: a line for each.
[[nodiscard]] std::string refusals(const OpDefinition& definition, const std::set<std::string>& configs,
                                   const Problem& problem, const DeviceFacts& device);

/// Checks that a config names an implementation and exactly its parameters with values of its space. Returns it with
/// the parameters in the definition's order. Throws UsageError with the nearest name or the allowed values.
[[nodiscard]] Candidate resolve_config(const OpDefinition& definition, const Config& config);

}  // namespace tilewright
