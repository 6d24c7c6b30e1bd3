// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/model/records.hpp"
#include "tuner/app/place.hpp"

/// The findings of `doctor` on a cache, and the type of all its findings.
namespace tilewright::app {

/// One part of the machine, and what is wrong with it.
struct Finding {
  std::string part;
  bool found = false;
  std::string what;
  std::string where;
  /// The fault and its cost; empty if there is none.
  std::string wrong = {};
  /// The command to type if `wrong` is not empty.
  std::string type = {};
};

/// A device that can be tuned for here, and the versions that its fresh winners have.
struct Tunable {
  std::string fingerprint;
  Versions now;
};

struct CacheFindings {
  std::vector<Finding> findings;
  /// Whether the cache does not exist yet, or can be read and launched from.
  bool sound = true;
};

/// Whether the cache can be read, is whole, is safe to launch from and may be written, and whether it has winners of
/// these devices that are not stale.
[[nodiscard]] CacheFindings look_at_cache(const Place& place, const std::vector<Tunable>& devices);

}  // namespace tilewright::app
