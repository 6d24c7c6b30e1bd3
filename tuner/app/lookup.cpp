// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cache/serve/choose.hpp"

namespace tilewright::app {

Freshness freshness_here(const WinnerRow& row, const std::vector<std::string>& current_implementations) {
  return freshness_of(row, {}, current_implementations);
}

Lookup look_up(const Store& store, const OpInterface& interface, const Problem& problem, const DeviceFacts& device,
               const std::vector<std::string>& current_implementations) {
  Chosen chosen = choose(store, interface, {problem, interface.hash(), device, {}, current_implementations});
  if (!chosen.choice) {
    return {{}, chosen.why.empty() ? std::string() : fmt::format("no stored config can serve it: {}", chosen.why), {}};
  }
  std::vector<std::string> decisions;
  if (chosen.pin) decisions.push_back(fmt::format("{} is {}", chosen.pin->config.config.text(), chosen.pin->text()));
  std::ranges::move(chosen.gave_way, std::back_inserter(decisions));
  for (const Pin& ban : chosen.bans) decisions.push_back(fmt::format("{} is {}", ban.config.config.text(), ban.text()));
  std::optional<Expectation> expected = expectation_of(store, *chosen.choice, problem);
  return {{chosen.choice->match, std::move(chosen.choice->row)},
          {},
          std::move(chosen.unread),
          std::move(decisions),
          std::move(expected)};
}

}  // namespace tilewright::app
