// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tuner/app/place.hpp"
#include "tuner/service/metrics.hpp"
#include "tuner/service/router.hpp"

namespace tilewright::service {

/// The service's counts of itself (docs/service.md, "Metrics"). For any thread.
class Measures {
 public:
  using Clock = std::chrono::steady_clock;

  Measures(app::Place place, std::filesystem::path channels);

  /// A request was answered.
  void answered(const Call& call, const Response& response, Clock::duration took);
  /// The tuner told this.
  void heard(const nlohmann::ordered_json& event);
  /// All of it, with what is asked for now: the queue, the cache's size, how old snapshots are.
  [[nodiscard]] std::string text(std::size_t listeners);

 private:
  const app::Place place_;
  const std::filesystem::path channels_;
  Metrics metrics_;
  std::mutex mutex_;
  /// Since when each device is at a job; counted up to then.
  std::map<std::string, Clock::time_point> busy_;
};

/// GET /metrics. `measures` must outlive the router; `listeners` tells how many listen to events.
[[nodiscard]] Route metrics_route(Measures& measures, std::function<std::size_t()> listeners);

}  // namespace tilewright::service
