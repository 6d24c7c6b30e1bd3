// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <thread>
#include <vector>

#include "tuner/app/place.hpp"
#include "tuner/app/service_queue.hpp"

/// The thread that tunes queued problems one after the other and reports events. Owned by the service; for any thread.
namespace tilewright::service {

class Tuner {
 public:
  /// Receives an event (docs/progress.md); its "event" names the kind. Called by any thread.
  using Tell = std::function<void(const nlohmann::ordered_json&)>;

  Tuner(app::Place place, std::vector<app::TuningDevice> devices, Tell tell);
  /// Ends the work under way once its results are stored, and joins the thread.
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  [[nodiscard]] const std::vector<app::TuningDevice>& devices() const noexcept { return devices_; }
  /// Starts the thread; without devices there is none.
  void start();
  /// Call it after queueing.
  void wake();
  /// Ends the campaign's work under way. Call it after the cache has the campaign as cancelled.
  void cancel(std::int64_t campaign);
  /// Asks the thread to end; returns at once.
  void stop();

 private:
  class Teller;
  void run();
  [[nodiscard]] bool is_cancelled(std::int64_t campaign);
  void forget_cancelled();

  const app::Place place_;
  const std::vector<app::TuningDevice> devices_;
  const Tell tell_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = true;
  std::atomic<bool> stopping_ = false;
  /// Campaigns whose job may have started before they were cancelled.
  std::set<std::int64_t> cancelled_;
  std::thread thread_;
};

}  // namespace tilewright::service
