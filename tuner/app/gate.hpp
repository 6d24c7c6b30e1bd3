// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tuner/app/listener.hpp"
#include "tuner/app/place.hpp"
#include "tuner/report/gate_table.hpp"

/// Tells whether a change made anything slower: compares two caches, devices or versions, as `table --compare` does.
namespace tilewright::app {

struct GateRequest {
  Place place;
  /// The sides, named as in CompareRequest; or a pack, or a folder of packs.
  std::string a;
  std::string b;
  /// Empty: all ops of `a`.
  std::vector<std::string> ops;
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  GateRule rule;
};

/// Throws as compared_lines(), and UsageError for an unknown op. With a listener, suspects are timed again on the first
/// GPU of this machine, or on the emulator if both sides are of it; the listener can cancel that. Without one, nothing
/// is measured.
[[nodiscard]] GateReport gate(const GateRequest& request, Listener* listener = nullptr);

}  // namespace tilewright::app
