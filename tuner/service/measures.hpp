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

/// The service's metrics (docs/service.md, "Metrics"). For any thread.
class Measures {
 public:
  using Clock = std::chrono::steady_clock;

  Measures(app::Place place, std::filesystem::path channels);

  /// Counts an answered request and its time.
  void answered(const Call& call, const Response& response, Clock::duration took);
  /// Counts an event of the tuner.
  void heard(const nlohmann::ordered_json& event);
  /// All metrics as text. Reads the queue's depth, the cache's size and the channels' ages now.
  [[nodiscard]] std::string text(std::size_t listeners);

 private:
  const app::Place place_;
  const std::filesystem::path channels_;
  Metrics metrics_;
  std::mutex mutex_;
  /// Devices with a job, and the time up to which their busy seconds are counted.
  std::map<std::string, Clock::time_point> busy_;
};

/// GET /metrics. `measures` must outlive the router; `listeners` returns the number of event listeners.
[[nodiscard]] Route metrics_route(Measures& measures, std::function<std::size_t()> listeners);

}  // namespace tilewright::service
