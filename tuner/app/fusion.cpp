// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/fusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tuner/app/stored_devices.hpp"

namespace tilewright::app {
namespace {

/// A problem that needs a winner.
struct ToTune {
  const OpDefinition* definition = nullptr;
  Problem problem;
};

/// The problems that the account of `problem` compares, each once: the fused op, then its steps that are ops.
std::vector<ToTune> compared(const OpDefinition& fused, const Problem& problem, Catalogue& catalogue) {
  std::vector<ToTune> all{{&fused, problem}};
  for (const UnfusedStep& step : unfused_steps(fused, problem, catalogue)) {
    if (!step.problem) continue;
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const ToTune& each) { return each.problem == *step.problem; });
    if (!known) all.push_back({step.definition, *step.problem});
  }
  return all;
}

/// Whether is_whole() holds for all sweeps, and the devices that they ran on.
struct Measured {
  bool whole = true;
  std::vector<std::string> devices;
};

/// Tunes the problems without a winner.
Measured measure(const FusionRequest& asked, const std::vector<ToTune>& all, Catalogue& catalogue, Listener& listener) {
  SweepRequest request;
  const std::optional<SweepPlace> place = open_sweep(asked.place, *asked.tuning, request, listener);
  if (!place) return {false, {}};
  Measured measured{true, place->devices->fingerprints()};
  Store store(cache_path(asked.place));
  for (const ToTune& each : all) {
    const std::string hash = each.definition->interface.hash();
    const bool known = std::all_of(measured.devices.begin(), measured.devices.end(), [&](const std::string& device) {
      return store.winner_of({each.problem, hash, device}, request.mode, WinnerRole::best).has_value();
    });
    if (known && !request.again) continue;
    check_sizes(*each.definition, {each.problem});
    request.definition = each.definition;
    request.problems = {each.problem};
    const SweepSummary summary = run_told(request, catalogue, *place->devices, store, listener, store.path());
    for (const std::string& refusal : summary.refusals) listener.warn(refusal);
    measured.whole = measured.whole && is_whole(summary);
    if (summary.interrupted) break;
  }
  return measured;
}

/// The devices of the account: the measured, else the named ones, else those with a winner for any part of it, else all
/// of the cache.
std::vector<DeviceFacts> devices_for(const Store& store, const std::string& device_name, const std::vector<ToTune>& all,
                                     const std::vector<std::string>& measured, MeasureMode mode) {
  std::vector<DeviceFacts> devices;
  std::vector<DeviceFacts> known = choose_devices(store, measured.empty() ? device_name : "");
  for (const DeviceFacts& device : known) {
    const std::string fingerprint = device.fingerprint();
    const bool asked = measured.empty() ? !device_name.empty()
                                        : std::find(measured.begin(), measured.end(), fingerprint) != measured.end();
    const bool has = measured.empty() && std::any_of(all.begin(), all.end(), [&](const ToTune& each) {
                       const std::string hash = each.definition->interface.hash();
                       return store.winner_of({each.problem, hash, fingerprint}, mode, WinnerRole::best).has_value();
                     });
    if (asked || has) devices.push_back(device);
  }
  return devices.empty() && measured.empty() ? std::move(known) : devices;
}

}  // namespace

FusionResult fusion(const FusionRequest& request, Listener& listener) {
  Catalogue catalogue = open_catalogue(request.place);
  const OpDefinition& fused = catalogue.find(request.problem.op);
  const Problem problem = to_problem(request.problem, fused.interface);
  // Reports mistakes of the definition or the shape before anything is opened.
  static_cast<void>(fusion_account(nullptr, catalogue, fused, problem, std::nullopt, request.mode));
  const std::vector<ToTune> all = compared(fused, problem, catalogue);

  Measured measured;
  if (request.tuning) {
    measured = measure(request, all, catalogue, listener);
    if (measured.devices.empty()) return {{}, false};
  }
  // Bytes need no cache, so that an op's account can be read before anything is tuned.
  std::vector<DeviceFacts> devices;
  std::string unusable;
  const std::optional<Store> store = request.place.cache ? std::optional<Store>(open_to_read(request.place))
                                                         : cache_if_usable(request.place, unusable);
  if (!unusable.empty()) listener.warn(fmt::format("By bytes alone: {}", unusable));
  if (store) {
    devices = devices_for(*store, request.device, all, measured.devices, request.mode);
  } else if (!request.device.empty()) {
    devices = {facts_of_arch(request.device)};
  }
  FusionResult result{{}, measured.whole};
  const Store* const known = store ? &*store : nullptr;
  for (const DeviceFacts& device : devices) {
    result.accounts.push_back(fusion_account(known, catalogue, fused, problem, device, request.mode));
  }
  if (devices.empty()) {
    result.accounts.push_back(fusion_account(nullptr, catalogue, fused, problem, std::nullopt, request.mode));
  }
  return result;
}

}  // namespace tilewright::app
