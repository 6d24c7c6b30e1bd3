// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "tuner/app/place.hpp"

/// Whether what was answered of a place still stands: for who keeps answers. For any thread.
namespace tilewright::app {

class PlaceWatch {
 public:
  explicit PlaceWatch(Place place) : place_(std::move(place)) {}

  /// Another number once the cache's content has changed or another file stands in its place, and within a second of a
  /// change of the ops' files. Throws CacheError for a cache that cannot be read.
  [[nodiscard]] std::uint64_t state();

 private:
  [[nodiscard]] std::string ops_now() const;

  const Place place_;
  std::mutex mutex_;
  std::optional<Store> store_;
  std::int64_t version_ = 0;
  std::string ops_;
  std::chrono::steady_clock::time_point looked_{};
  std::uint64_t state_ = 0;
};

}  // namespace tilewright::app
