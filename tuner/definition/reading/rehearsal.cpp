// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/rehearsal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cache/model/domain.hpp"
#include "cache/plan/padding.hpp"
#include "cache/plan/plan.hpp"
#include "tuner/definition/space.hpp"

namespace tilewright::reading {
namespace {

/// The extent at which `rank` equal dims have 2^log2 elements.
std::int64_t side_of(double log2, std::size_t rank) {
  return static_cast<std::int64_t>(std::exp2(log2 / static_cast<double>(rank)));
}

/// Dims that a base must serve: all 1, all odd, all large, and each in turn 1001 or huge beside ones.
std::vector<std::vector<std::int64_t>> hard_dims(std::size_t rank) {
  // 8 GiB of single bytes, beyond 32 bits.
  constexpr std::int64_t kHuge = (std::int64_t{1} << 33) - 1;
  const std::int64_t large = side_of(40, rank) + 1;
  std::vector<std::vector<std::int64_t>> dims;
  for (const std::int64_t all : {std::int64_t{1}, std::int64_t{3}, std::int64_t{1001}, large}) {
    dims.emplace_back(rank, all);
  }
  for (std::size_t i = 0; i < rank; ++i) {
    dims.emplace_back(rank, 1)[i] = 1001;
    dims.emplace_back(rank, 1)[i] = kHuge;
  }
  return dims;
}

/// A lower bound of all supported GPUs.
DeviceFacts least_device() {
  DeviceFacts facts;
  facts.name = "the least sm_80 GPU";
  facts.compute_capability = 80;
  facts.sm_count = 1;
  facts.memory_bytes = std::int64_t{1} << 32;
  facts.memory_bus_bits = 64;
  facts.l2_bytes = std::int64_t{1} << 20;
  facts.shared_per_block_optin = 99 << 10;
  facts.shared_per_sm = 100 << 10;
  facts.registers_per_sm = 65536;
  facts.max_threads_per_sm = 1536;
  return facts;
}

/// A large GPU on which code that requires `arch` runs.
DeviceFacts device_for(std::string_view arch) {
  DeviceFacts facts = emulator_facts();
  facts.name = "a GPU";
  arch.remove_prefix(std::min<std::size_t>(3, arch.size()));
  std::from_chars(arch.data(), arch.data() + arch.size(), facts.compute_capability);
  if (!arch.ends_with('a')) facts.compute_capability = std::max(90, facts.compute_capability);
  facts.sm_count = 132;
  return facts;
}

/// Why the base cannot serve a problem; empty if it can.
std::string obstacle(const OpDefinition& definition, const Candidate& base, const Problem& problem) {
  const auto plan = make_plan(definition.interface, base.implementation->recipe, base.config, problem, least_device());
  if (const auto* illegal = std::get_if<Illegal>(&plan)) return illegal->reason;
  const std::vector<PlannedArg> given = plan_args(definition.interface, problem);
  const std::vector<PlannedArg>& needed = std::get<LaunchPlan>(plan).args;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (needed[i].alignment <= given[i].alignment) continue;
    return fmt::format("it needs '{}' at a multiple of {} bytes, and callers give {}", given[i].name,
                       needed[i].alignment, given[i].alignment);
  }
  return {};
}

void check_base(const OpDefinition& definition, const Candidate& base, Place place, Mistakes& mistakes) {
  const OpInterface& interface = definition.interface;
  for (const OpSpec& spec : specs_to_rehearse(interface)) {
    for (const std::vector<std::int64_t>& dims : hard_dims(interface.dims.size())) {
      const std::optional<Problem> problem = problem_to_rehearse(interface, spec, dims);
      if (!problem) continue;
      const std::string reason = obstacle(definition, base, *problem);
      if (reason.empty()) continue;
      mistakes.add(place,
                   fmt::format("the base must serve every problem on every GPU from sm_80 on, and {} cannot serve "
                               "{}: {}",
                               base.config.text(), problem->key(), reason));
      return;
    }
  }
}

}  // namespace

std::vector<OpSpec> specs_to_rehearse(const OpInterface& interface) {
  OpSpec defaults{interface.op, DType::f32, {}};
  OpSpec lasts = defaults;
  for (const Attribute& attribute : interface.attributes) {
    defaults.attributes.emplace_back(attribute.name, attribute.values.front());
    lasts.attributes.emplace_back(attribute.name, attribute.values.back());
  }
  std::vector<OpSpec> chosen{defaults};
  for (std::size_t i = 0; i < interface.attributes.size(); ++i) {
    for (const std::string& value : interface.attributes[i].values) {
      chosen.push_back(defaults);
      chosen.back().attributes[i].second = value;
    }
  }
  if (!interface.attributes.empty()) chosen.push_back(lasts);

  std::vector<OpSpec> specs;
  for (const DType type : interface.dtypes) {
    for (OpSpec spec : chosen) {
      spec.dtype = type;
      if (std::ranges::find(specs, spec) == specs.end()) specs.push_back(std::move(spec));
    }
  }
  return specs;
}

std::optional<Problem> problem_to_rehearse(const OpInterface& interface, const OpSpec& spec,
                                           std::span<const std::int64_t> dims) {
  const auto inside = dims_in_domain(spec, interface, dims);
  if (!inside) return std::nullopt;
  return make_problem(spec, interface, *inside);
}

void rehearse_domain(const OpDefinition& definition, Mistakes& mistakes) {
  const OpInterface& interface = definition.interface;
  if (interface.domain.empty()) return;
  const std::vector<std::int64_t> ones(interface.dims.size(), 1);
  for (const OpSpec& spec : specs_to_rehearse(interface)) {
    if (problem_to_rehearse(interface, spec, ones)) continue;
    const SourcePlace& place = interface.domain.front().place();
    mistakes.add(DefinitionError({{place.file, place.line, place.column,
                                   fmt::format("no dims were found that are inside the domain for {}: each dim in turn "
                                               "was 1, and multiples of 2, 8, 16, 64 and 128 up to 256",
                                               spec.text())}}));
    return;
  }
}

Config read_base(const Node& text, const OpDefinition& definition, const std::vector<bool>& is_plannable,
                 Mistakes& mistakes) {
  try {
    const Candidate base = resolve_config(definition, Config::parse(text.text));
    if (base.config.specialised()) {
      mistakes.add(text.content, "the base must have static_dims=0: it serves dims that nobody tuned");
    } else if (is_plannable[static_cast<std::size_t>(base.implementation - definition.implementations.data())]) {
      check_base(definition, base, text.content, mistakes);
    }
    return base.config;
  } catch (const DefinitionError& error) {
    mistakes.add(error);  // a formula's, with its own place
  } catch (const UsageError& error) {
    // An unreadable implementation has no name, and the base may be one of its configs.
    const auto is_unread = [](const Implementation& each) { return each.recipe.name.empty(); };
    if (std::ranges::any_of(definition.implementations, is_unread)) return {};
    mistakes.add(text.content, fmt::format("the base is not a config of this op: {}", error.what()));
  }
  return {};
}

void rehearse(const OpDefinition& definition, const Implementation& implementation, Mistakes& mistakes) {
  const OpInterface& interface = definition.interface;
  const DeviceFacts device = device_for(implementation.recipe.requires_arch);
  const auto plan_all = [&](const OpSpec& spec, const Config& config) {
    for (const std::int64_t all : {std::int64_t{1}, std::int64_t{48}, side_of(24, interface.dims.size())}) {
      const std::vector<std::int64_t> dims(interface.dims.size(), all);
      try {
        const std::optional<Problem> problem = problem_to_rehearse(interface, spec, dims);
        if (!problem) continue;
        const auto plan = make_plan(interface, implementation.recipe, config, *problem, device);
        if (std::holds_alternative<LaunchPlan>(plan)) {
          static_cast<void>(padding_of(implementation.recipe, config, *problem, device));
        }
      } catch (const DefinitionError& error) {
        mistakes.add(error);
      }
    }
  };
  Config first{implementation.recipe.name, {}};
  for (const Parameter& parameter : implementation.space)
    first.values.emplace_back(parameter.name, parameter.values[0]);
  const std::vector<OpSpec> specs = specs_to_rehearse(interface);
  for (const OpSpec& spec : specs) plan_all(spec, first);
  for (std::size_t i = 0; i < implementation.space.size(); ++i) {
    for (const std::int64_t value : implementation.space[i].values) {
      Config config = first;
      config.values[i].second = value;
      plan_all(specs.front(), config);
    }
  }
}

}  // namespace tilewright::reading
