// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/servable.hpp"

#include <fmt/format.h>

#include "cache/plan.hpp"

namespace tilewright::cli {

Servable find_servable(const Store& store, const OpInterface& interface, const Problem& problem,
                       const DeviceFacts& device, const Versions& versions) {
  static_cast<void>(plan_args(interface, problem));
  Servable found{match(store, problem, interface.hash(), device, versions), {}};
  if (!found.served.row) return found;
  // What was measured on this very problem and device could be launched.
  const Match& fitting = found.served.match;
  if (fitting.fit == Fit::exact && fitting.device == DeviceFit::same_device) return found;
  const Store::WinnerRow& row = *found.served.row;
  const auto implementation = store.implementation_by_hash(row.implementation_hash);
  if (!implementation) return found;
  // Of a device that was named by its architecture alone nothing is known: the winner's own stands for it.
  const bool is_known = !device.name.starts_with("sm_");
  const auto plan =
      make_plan(interface, implementation->recipe, row.winner.trial.config, problem, is_known ? device : row.device);
  if (const auto* illegal = std::get_if<Illegal>(&plan)) {
    found.obstacle = fmt::format("{} cannot serve it: {}", row.winner.trial.config.text(), illegal->reason);
    found.served = {};
  }
  return found;
}

}  // namespace tilewright::cli
