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

/// The page's data: the whole cache at one moment, remade on request after the cache changes. For any thread.
class PageData {
 public:
  /// `watch` must outlive it.
  PageData(app::Place place, app::PlaceWatch& watch) : place_(std::move(place)), watch_(watch) {}

  /// The index with its `id`. While one thread makes it, others get the previous one, or 503.
  [[nodiscard]] Response index();
  /// A block of the index `id`, or 404 once a newer index exists.
  [[nodiscard]] Response block(const std::string& name, const std::string& id) const;

 private:
  struct Made {
    std::uint64_t state = 0;
    std::chrono::steady_clock::time_point at;
    std::string id;
    /// The index as JSON.
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

/// Adds the page at the root, its files, and the data it requests. `data` must outlive the router.
void add_page_routes(Router& router, PageData& data);

}  // namespace tilewright::service
