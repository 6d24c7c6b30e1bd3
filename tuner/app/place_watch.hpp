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

/// Tells callers that keep answers whether the answers still hold, and keeps the place open. Thread-safe.
namespace tilewright::app {

class PlaceWatch {
 public:
  explicit PlaceWatch(Place place) : place_(std::move(place)) {}

  /// A number that changes when the cache's content changes or another file takes its place, and within a second of a
  /// change of the ops' files. Throws CacheError if the cache cannot be read.
  [[nodiscard]] std::uint64_t state();
  /// The same for what serving reads (Store::winners_state()): trials of a running sweep do not change it.
  [[nodiscard]] std::uint64_t winners_state();

  /// The place, lent to one thread; its ops and cache are as of the last state(), or later.
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
  /// The last Store::winners_state(), and state_ when it changed.
  std::uint64_t winners_hash_ = 0, winners_state_ = 0;
  /// state_ when the file or the ops last changed: places opened before are stale.
  std::uint64_t opened_for_ = 0;
  std::vector<std::unique_ptr<OpenPlace>> idle_;
};

}  // namespace tilewright::app
