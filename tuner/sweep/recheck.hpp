// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "cache/model/records.hpp"

/// Winners that a sweep judges anew (revalidate.hpp). Values.
namespace tilewright {

/// A winner that something has changed for: those that led are timed again, and all configs are searched only where the
/// winner among them does not stand.
struct Recheck {
  /// The texts of the configs that led.
  std::set<std::string> leaders;
  /// The one that it was chosen in.
  Regime regime = Regime::burst;
  /// The change, in words.
  std::string why;
  /// Asked with the winner among them, null where none of them is right.
  std::function<bool(const Winner*)> stands;
};
/// By a device's fingerprint and a problem's key.
using Rechecks = std::map<std::pair<std::string, std::string>, Recheck>;

}  // namespace tilewright
