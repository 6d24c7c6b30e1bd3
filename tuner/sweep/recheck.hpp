// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "cache/model/records.hpp"

/// Winners that a sweep rechecks (revalidate.hpp). Values.
namespace tilewright {

/// A winner affected by a change. Its leaders are timed again, and all configs are searched only if the winner among
/// them does not stand.
struct Recheck {
  /// The texts of the leading configs.
  std::set<std::string> leaders;
  /// The regime in which the leaders are rechecked.
  Regime regime = Regime::burst;
  /// The change, in words.
  std::string why;
  /// Called with the winner among the leaders, or null if none is valid.
  std::function<bool(const Winner*)> stands;
};
/// By device fingerprint and problem key.
using Rechecks = std::map<std::pair<std::string, std::string>, Recheck>;

}  // namespace tilewright
