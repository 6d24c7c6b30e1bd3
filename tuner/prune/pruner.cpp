// SPDX-License-Identifier: Apache-2.0
#include "tuner/prune/pruner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "cache/base/units.hpp"
#include "cache/plan/padding.hpp"
#include "tuner/prune/verdict.hpp"

namespace tilewright {
namespace {

// More multiprocessors than any launch has pieces of work, and few enough for products of a plan.
constexpr int kNoEndOfSms = 1 << 20;

}  // namespace

Pruner::Pruner(const PruneSetting& setting, const std::vector<Entrant>& entrants)
    : device_(setting.device), work_(setting.work) {
  const Residency residency = likely_residency(device_);
  DeviceFacts endless = device_;
  endless.sm_count = kNoEndOfSms;
  const Residency endless_residency = likely_residency(endless);
  std::vector<std::size_t> bounded;
  for (const Entrant& entrant : entrants) {
    Planned& planned = planned_.emplace_back();
    planned.config = entrant.config->text();
    planned.is_base = *entrant.config == setting.base;
    planned.padding = padding_of(*entrant.recipe, *entrant.config, *setting.problem, device_);
    // A grid illegal under the likely residency may be legal under the real one, so it gives no bound.
    auto plan = make_plan(*setting.interface, *entrant.recipe, *entrant.config, *setting.problem, device_, &residency);
    if (auto* legal = std::get_if<LaunchPlan>(&plan)) {
      planned.kernels = std::move(legal->kernels);
      planned.bound = bound_of(planned.kernels, work_, planned.padding, device_);
    }
    if (!planned.bound) continue;
    bounded.push_back(planned_.size() - 1);
    // A persistent kernel's grid hides its pieces: where each had a block of its own, the last wave shows.
    planned.in_waves_ns = planned.bound->ns;
    plan =
        make_plan(*setting.interface, *entrant.recipe, *entrant.config, *setting.problem, endless, &endless_residency);
    if (auto* legal = std::get_if<LaunchPlan>(&plan)) {
      const auto in_waves = bound_of(legal->kernels, work_, planned.padding, device_);
      planned.in_waves_ns = std::max(planned.in_waves_ns, in_waves->ns);
    }
  }
  if (bounded.size() <= kYardstick) return;
  std::stable_sort(bounded.begin(), bounded.end(),
                   [&](std::size_t a, std::size_t b) { return planned_[a].in_waves_ns < planned_[b].in_waves_ns; });
  yardstick_ = bounded[kYardstick - 1];
}

std::optional<std::string> Pruner::hopeless(const std::optional<TimeBound>& bound) const {
  if (!yardstick_ || !bound) return std::nullopt;
  const Planned& yardstick = planned_[*yardstick_];
  const double ratio = bound->ns / yardstick.in_waves_ns;
  if (ratio <= kHopelessBound) return std::nullopt;
  return fmt::format("{}; at best {}× slower than {}", why(*bound, device_), significant(ratio, 2), yardstick.config);
}

std::optional<std::string> Pruner::before_compiling(std::size_t entrant) const {
  const Planned& planned = planned_.at(entrant);
  if (planned.is_base) return std::nullopt;
  auto reason = hopeless(planned.bound);
  if (reason) reason = fmt::format("{}: {}", kPrunedByModel, *reason);
  return reason;
}

std::optional<std::string> Pruner::after_compiling(std::size_t entrant,
                                                   const std::vector<KernelFacts>& compiled) const {
  const Planned& planned = planned_.at(entrant);
  if (planned.is_base || !planned.bound) return std::nullopt;
  int registers = 0;
  for (const PlannedKernel& kernel : planned.kernels) {
    const auto said = std::find_if(compiled.begin(), compiled.end(),
                                   [&](const KernelFacts& facts) { return facts.entry == kernel.entry; });
    if (said == compiled.end()) continue;
    registers = std::max(registers, said->registers);
  }
  auto reason = hopeless(bound_of(planned.kernels, work_, planned.padding, device_, compiled));
  if (reason) reason = fmt::format("{}: {} registers a thread: {}", kPrunedForOccupancy, registers, *reason);
  return reason;
}

std::optional<double> Pruner::bound_ns(std::size_t entrant) const {
  const auto& bound = planned_.at(entrant).bound;
  return bound ? std::optional(bound->ns) : std::nullopt;
}

}  // namespace tilewright
