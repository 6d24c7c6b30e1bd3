// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/servable.hpp"

#include <fmt/format.h>

#include <utility>

#include "cache/choose.hpp"

namespace tilewright::cli {

Servable find_servable(const Store& store, const OpInterface& interface, const Problem& problem,
                       const DeviceFacts& device, const Versions& versions) {
  Chosen chosen = choose(store, interface, problem, device, versions);
  if (!chosen.choice) {
    return {{}, chosen.why.empty() ? std::string() : fmt::format("nothing stored can serve it: {}", chosen.why)};
  }
  return {{chosen.choice->match, std::move(chosen.choice->row)}, {}};
}

}  // namespace tilewright::cli
