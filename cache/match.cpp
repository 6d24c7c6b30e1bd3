// SPDX-License-Identifier: Apache-2.0
#include "cache/match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace tilewright {
namespace {

/// Times of different modes are never compared, so one mode decides: the first in which there is a winner.
constexpr std::array kModes{MeasureMode::cold, MeasureMode::hot, MeasureMode::events};

/// What a caller does not know (no driver on this machine, no compiler) it cannot judge.
bool differs(const Versions& now, const Versions& then) {
  return (now.driver != 0 && now.driver != then.driver) || (!now.compiler.empty() && now.compiler != then.compiler) ||
         (!now.tilewright.empty() && now.tilewright != then.tilewright);
}

Freshness judge(const WinnerRow& row, const Versions& versions, const std::vector<std::string>& current) {
  const bool retired = !current.empty() && std::ranges::find(current, row.implementation_hash) == current.end();
  return retired || differs(versions, row.winner.trial.versions) ? Freshness::stale : Freshness::fresh;
}

struct Found {
  Fit fit;
  WinnerRow row;
};

/// The rule on one device: the problem itself, then the base of its spec.
std::optional<Found> find_on(const WinnerSource& source, const ProblemKey& key) {
  for (const MeasureMode mode : kModes) {
    if (auto row = source.winner_of(key, mode, WinnerRole::best)) return Found{Fit::exact, std::move(*row)};
  }
  for (const MeasureMode mode : kModes) {
    if (auto row = source.newest_of_spec(key, mode, WinnerRole::base)) return Found{Fit::base_default, std::move(*row)};
  }
  return std::nullopt;
}

/// Other stored devices of the same architecture, the most alike first; none for the emulator.
std::vector<DeviceFacts> relatives(const WinnerSource& source, const DeviceFacts& device) {
  if (device.is_cpu()) return {};
  std::vector<DeviceFacts> found;
  const std::string own = device.fingerprint();
  for (DeviceFacts& other : source.devices()) {
    if (other.compute_capability == device.compute_capability && other.fingerprint() != own) {
      found.push_back(std::move(other));
    }
  }
  std::ranges::stable_sort(found, {},
                           [&](const DeviceFacts& other) { return std::abs(other.sm_count - device.sm_count); });
  return found;
}

}  // namespace

std::string_view name(Fit fit) noexcept {
  switch (fit) {
    case Fit::exact:
      return "exact";
    case Fit::nearest:
      return "nearest";
    case Fit::base_default:
      return "default";
    case Fit::none:
      break;
  }
  return "none";
}

std::string_view name(Freshness freshness) noexcept { return freshness == Freshness::fresh ? "fresh" : "stale"; }

std::string_view name(DeviceFit fit) noexcept {
  return fit == DeviceFit::same_device ? "same device" : "same architecture";
}

std::string Match::text() const {
  if (fit == Fit::none) return std::string(name(fit));
  return fmt::format("{}, {}, {}", name(fit), name(freshness), name(device));
}

Served match(const WinnerSource& source, const Problem& problem, const std::string& interface_hash,
             const DeviceFacts& device, const Versions& versions,
             const std::vector<std::string>& current_implementations) {
  ProblemKey key{problem, interface_hash, device.fingerprint()};
  std::optional<Found> found = find_on(source, key);
  DeviceFit device_fit = DeviceFit::same_device;
  if (!found) {
    device_fit = DeviceFit::same_architecture;
    // Exact on any relative goes before the base of the nearest one.
    for (const DeviceFacts& relative : relatives(source, device)) {
      key.device_fingerprint = relative.fingerprint();
      std::optional<Found> candidate = find_on(source, key);
      if (candidate && (!found || candidate->fit < found->fit)) found = std::move(candidate);
      if (found && found->fit == Fit::exact) break;
    }
  }
  if (!found) return {};
  const Freshness freshness = judge(found->row, versions, current_implementations);
  return {Match{found->fit, freshness, device_fit}, std::move(found->row)};
}

}  // namespace tilewright
