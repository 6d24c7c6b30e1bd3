// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/measures.hpp"

#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "cache/base/version.hpp"
#include "tuner/app/service_queue.hpp"
#include "tuner/snapshot/shelf.hpp"

namespace tilewright::service {
namespace {

using Kind = Metrics::Kind;

constexpr Metrics::Family kInfo{"tilewright_info", Kind::gauge, "1, with the version that runs"};
constexpr Metrics::Family kStarted{"tilewright_start_time_seconds", Kind::gauge, "When the service began, since 1970"};
constexpr Metrics::Family kRequests{"tilewright_requests_total", Kind::counter, "Requests that were answered"};
constexpr Metrics::Family kSeconds{"tilewright_request_seconds", Kind::histogram,
                                   "From a whole request to its answer, without what the network takes"};
constexpr Metrics::Family kListeners{"tilewright_event_listeners", Kind::gauge, "Who listens to events"};
constexpr Metrics::Family kQueue{"tilewright_queue", Kind::gauge, "Jobs that wait or run, and misses that wait"};
constexpr Metrics::Family kTrials{"tilewright_trials_total", Kind::counter, "Configs that were tried, by what became"};
constexpr Metrics::Family kJobs{"tilewright_jobs_total", Kind::counter, "Problems that were tuned, by what became"};
constexpr Metrics::Family kBusy{"tilewright_device_busy_seconds_total", Kind::counter,
                                "Seconds in which a device was at a job of this service"};
constexpr Metrics::Family kBytes{"tilewright_cache_bytes", Kind::gauge, "Size of the cache's file"};
constexpr Metrics::Family kAge{"tilewright_snapshot_age_seconds", Kind::gauge,
                               "Since what a channel points at was signed"};

double seconds_of(Measures::Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Measures::Measures(app::Place place, std::filesystem::path channels)
    : place_(std::move(place)), channels_(std::move(channels)) {
  metrics_.set(kInfo, {{"version", version()}}, 1);
  metrics_.set(kStarted, {}, static_cast<double>(std::time(nullptr)));
}

void Measures::answered(const Call& call, const Response& response, Clock::duration took) {
  // Labels are known routes and methods only: clients must not create series.
  const std::string route = call.route == nullptr ? "none" : call.route->path;
  const std::string method = call.route == nullptr ? "none" : call.route->method;
  metrics_.add(kRequests, {{"route", route}, {"method", method}, {"status", std::to_string(response.status)}});
  metrics_.observe(kSeconds, {{"route", route}}, seconds_of(took));
}

void Measures::heard(const nlohmann::ordered_json& event) {
  const std::string kind = event.value("event", "");
  if (kind == "trial") metrics_.add(kTrials, {{"status", event.value("status", "")}});
  if (kind != "job_started" && kind != "job_done") return;
  const std::string device = event.value("device", "");
  const std::lock_guard lock(mutex_);
  const auto found = busy_.find(device);
  if (found != busy_.end()) {
    metrics_.add(kBusy, {{"device", device}}, seconds_of(Clock::now() - found->second));
    busy_.erase(found);
  }
  if (kind == "job_started") {
    busy_.emplace(device, Clock::now());
  } else {
    metrics_.add(kJobs, {{"state", event.value("state", "")}});
  }
}

std::string Measures::text(std::size_t listeners) {
  metrics_.set(kListeners, {}, static_cast<double>(listeners));
  {
    const std::lock_guard lock(mutex_);
    for (auto& [device, since] : busy_) {
      const Clock::time_point now = Clock::now();
      metrics_.add(kBusy, {{"device", device}}, seconds_of(now - since));
      since = now;
    }
  }
  const std::filesystem::path cache = app::cache_path(place_);
  std::error_code missing;
  const std::uintmax_t bytes = std::filesystem::file_size(cache, missing);
  metrics_.set(kBytes, {}, missing ? 0 : static_cast<double>(bytes));
  if (!missing) {
    const JobQueue::Depth depth = app::queue_depth(place_);
    metrics_.set(kQueue, {{"state", "queued"}}, static_cast<double>(depth.queued));
    metrics_.set(kQueue, {{"state", "running"}}, static_cast<double>(depth.running));
    metrics_.set(kQueue, {{"state", "missed"}}, static_cast<double>(depth.misses));
  }
  Shelf shelf(channels_);
  for (const std::string& channel : shelf.channels()) {
    try {
      const std::optional<SignedManifest> found = shelf.manifest(channel);
      if (!found) continue;
      metrics_.set(kAge, {{"channel", channel}}, static_cast<double>(std::time(nullptr) - found->manifest.signed_at));
    } catch (const Error&) {  // A channel that cannot be read has no age; the other metrics stand.
    }
  }
  return metrics_.text();
}

Route metrics_route(Measures& measures, std::function<std::size_t()> listeners) {
  Route route{.method = "GET",
              .path = "/metrics",
              .summary = "Numbers for Prometheus",
              .answer_type = "text/plain; version=0.0.4; charset=utf-8",
              .of_cache = false};
  route.handler = [&measures, listeners = std::move(listeners)](const Call&) {
    Response response;
    response.type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = measures.text(listeners());
    return response;
  };
  return route;
}

}  // namespace tilewright::service
