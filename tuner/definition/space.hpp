// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "cache/model/device_facts.hpp"
#include "cache/plan/plan.hpp"
#include "tuner/definition/definition.hpp"

/// Parameter spaces: from a definition and a problem to the configs worth compiling.
namespace tilewright {

struct Candidate {
  Config config;
  const Implementation* implementation = nullptr;
};

struct Expansion {
  /// Legal on this device for this problem: implementations in the definition's order, parameters varying fastest last.
  std::vector<Candidate> legal;
  /// The configs that each rule was seen to forbid, each counted for one rule ("constraint `cols % vec == 0`" → 96).
  std::map<std::string, std::size_t> forbidden;
  /// All configs of the space.
  std::size_t total = 0;
};

/// Every config of every implementation that make_plan finds legal. The constraints of an implementation count in their
/// order: one that cannot be evaluated is no error where another before it is false. The result points into
/// `definition`.
[[nodiscard]] Expansion expand(const OpDefinition& definition, const Problem& problem, const DeviceFacts& device);

/// Why no config serves the problem on this device, for people: a line an implementation, with the rules that forbid
/// its configs, those that forbid most first. For problems of which `expand` leaves nothing.
[[nodiscard]] std::string refusals(const OpDefinition& definition, const Problem& problem, const DeviceFacts& device);

/// Checks that a config names an implementation and exactly its parameters, with values of its space; returns it with
/// the parameters in the definition's order. Throws UsageError with the nearest right name.
[[nodiscard]] Candidate resolve_config(const OpDefinition& definition, const Config& config);

}  // namespace tilewright
