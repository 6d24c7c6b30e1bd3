// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tuner/app/listener.hpp"
#include "tuner/app/place.hpp"
#include "tuner/report/gate_table.hpp"

/// Whether a change made anything slower: two caches, devices or versions, as `table --compare` takes them.
namespace tilewright::app {

struct GateRequest {
  Place place;
  /// As CompareRequest has them; or a pack, or a folder of packs.
  std::string a;
  std::string b;
  /// Empty: all that the two have.
  std::vector<std::string> ops;
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  GateRule rule;
};

/// Throws as compared_lines() does. With a listener, suspects are timed again on the first GPU of this machine, or on
/// the emulator where both sides are of it; it hears of that, and cancels it. Without one, nothing is measured.
[[nodiscard]] GateReport gate(const GateRequest& request, Listener* listener = nullptr);

}  // namespace tilewright::app
