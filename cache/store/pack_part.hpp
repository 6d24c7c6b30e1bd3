// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

/// The part of a cache that goes into one pack, and what that tells another cache. Values.
namespace tilewright {

struct PackPart {
  struct Member {
    std::int64_t id = 0;
    /// Problem::key()
    std::string key;
  };
  /// Row ids of an implementation and of problems: its trials of these problems, their spares, and the winners whose
  /// first is of it, with all that they need. 0: none.
  std::int64_t implementation = 0;
  std::vector<Member> problems;
  /// The models of this op. Empty: none.
  std::string models_of{};
  /// Ceilings and rates of all devices.
  bool devices = false;
};

/// How a fold would change a cache, changed recipes and facts of devices aside. Problems by their keys.
struct FoldChanges {
  /// Problems of which the cache would get a row, or a binary for one of its trials.
  std::set<std::string> problems;
  /// It would get rows, of problems, models, ceilings or rates, or a binary that serves.
  bool has_rows = false;
  /// Problems whose winners in the pack differ from those that the cache would have, and the pack that brought these;
  /// empty: chosen in the cache.
  std::map<std::string, std::string> kept;
  /// Specs whose model in the pack is another than the cache would have.
  std::set<std::string> kept_models;
};

}  // namespace tilewright
