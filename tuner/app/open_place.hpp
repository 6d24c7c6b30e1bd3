// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache/base/error.hpp"
#include "tuner/analysis/roofline.hpp"
#include "tuner/app/place.hpp"

/// A place that stays open for many queries: it reads the cache as it is at each, the ops as they were at the first
/// that needs them. For one thread at a time.
namespace tilewright::app {

class OpenPlace {
 public:
  /// Throws CacheError if the cache cannot be read.
  explicit OpenPlace(Place place) : place_(std::move(place)), store_(open_to_read(place_)) {}
  // Its ceilings refer to its store.
  OpenPlace(const OpenPlace&) = delete;
  OpenPlace& operator=(const OpenPlace&) = delete;

  [[nodiscard]] const Place& place() const noexcept { return place_; }
  [[nodiscard]] const Store& store() const noexcept { return store_; }
  /// Null if the op's definition is not on this machine or cannot be read. Throws UsageError if a path of ops is not a
  /// folder.
  [[nodiscard]] const OpDefinition* definition(const std::string& op);
  /// Hashes of the op's implementations; empty if its definition is not on this machine or is not TOML. Throws
  /// UsageError if a path of ops is not a folder.
  [[nodiscard]] const std::vector<std::string>& implementations(const std::string& op);
  /// Tells that the op's definition is not TOML, if implementations() found so; else empty. Throws the DefinitionError
  /// instead if no stored config serves: then the definition is what the user needs.
  [[nodiscard]] std::string warning(const std::string& op, bool is_served) const;
  /// The winner's time against the ceilings of its device. Empty if the op's definition is not on this machine or
  /// cannot be read.
  [[nodiscard]] Roofline roofline(const WinnerRow& row);

 private:
  [[nodiscard]] Catalogue* catalogue();

  Place place_;
  Store store_;
  /// The ceilings of store_ at data_version() `version_`.
  std::optional<Ceilings> ceilings_;
  std::int64_t version_ = 0;
  bool looked_ = false;
  std::optional<Catalogue> catalogue_;
  std::map<std::string, std::vector<std::string>> implementations_;
  std::map<std::string, DefinitionError> mistakes_;
};

}  // namespace tilewright::app
