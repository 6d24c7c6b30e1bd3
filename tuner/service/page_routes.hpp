// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "tuner/app/place.hpp"
#include "tuner/app/place_watch.hpp"
#include "tuner/app/report.hpp"
#include "tuner/service/router.hpp"

namespace tilewright::service {

/// The data of the page: all of the cache at one moment, made when somebody asks and the cache is another. For any
/// thread.
class PageData {
 public:
  /// `watch` must outlive it.
  PageData(app::Place place, app::PlaceWatch& watch) : place_(std::move(place)), watch_(watch) {}

  /// With its `id`. One thread at a time makes them: meanwhile others get those of before, or 503.
  [[nodiscard]] Response index();
  /// Of the index with the id; 404 once there is a newer one.
  [[nodiscard]] Response block(const std::string& name, const std::string& id) const;

 private:
  struct Made {
    std::uint64_t state = 0;
    std::chrono::steady_clock::time_point at;
    std::string id;
    /// The index, as it is sent.
    std::string text;
    Page page;
  };
  [[nodiscard]] std::shared_ptr<const Made> made() const;

  const app::Place place_;
  app::PlaceWatch& watch_;
  std::mutex making_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Made> made_;
};

/// The page at the root, which holds no data, its files, and what it asks for. `data` must outlive the router.
void add_page_routes(Router& router, PageData& data);

}  // namespace tilewright::service
