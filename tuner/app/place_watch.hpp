// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tuner/app/open_place.hpp"
#include "tuner/app/place.hpp"

/// Tells callers who keep answers whether these still stand, and keeps the place open. For any thread.
namespace tilewright::app {

class PlaceWatch {
 public:
  explicit PlaceWatch(Place place) : place_(std::move(place)) {}

  /// A number that changes when the cache's content does or another file takes its place, and within a second of a
  /// change of the ops' files. Throws CacheError for a cache that cannot be read.
  [[nodiscard]] std::uint64_t state();
  /// The same of what serving looks at (Store::winners_state): trials of a sweep that goes on do not change it.
  [[nodiscard]] std::uint64_t winners_state();

  /// The place, for one thread until it is given back; of ops and a cache as state() saw them last, or later.
  using Lease = std::unique_ptr<OpenPlace, std::function<void(OpenPlace*)>>;
  [[nodiscard]] Lease open();

 private:
  [[nodiscard]] std::string ops_now() const;
  void renew();
  void look();

  const Place place_;
  std::mutex mutex_;
  std::optional<Store> store_;
  std::int64_t version_ = 0;
  std::string ops_;
  std::chrono::steady_clock::time_point looked_{};
  std::uint64_t state_ = 0;
  /// Store::winners_state() as it was seen last, and state_ then.
  std::uint64_t winners_hash_ = 0, winners_state_ = 0;
  /// state_ when another file or other ops were seen: places opened before are stale.
  std::uint64_t opened_for_ = 0;
  std::vector<std::unique_ptr<OpenPlace>> idle_;
};

}  // namespace tilewright::app
