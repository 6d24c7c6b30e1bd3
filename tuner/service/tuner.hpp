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

/// The thread that tunes queued problems one after the other, and reports on them.
namespace tilewright::service {

class Tuner {
 public:
  /// An event, with what it is as "event" and as docs/progress.md has them. Told by any thread.
  using Tell = std::function<void(const nlohmann::ordered_json&)>;

  /// Without devices nothing is tuned.
  Tuner(app::Place place, std::vector<app::TuningDevice> devices, Tell tell);
  /// Ends the work under way where everything is stored.
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  [[nodiscard]] const std::vector<app::TuningDevice>& devices() const noexcept { return devices_; }
  /// Something was queued.
  void wake();
  /// Ends the campaign's work under way.
  void cancel(std::int64_t campaign);
  /// Everything ends; returns at once.
  void stop();

 private:
  class Teller;
  void run();

  const app::Place place_;
  const std::vector<app::TuningDevice> devices_;
  const Tell tell_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = true;
  std::atomic<bool> stopping_ = false;
  /// Of the job under way; 0: of misses, or there is none.
  std::atomic<std::int64_t> campaign_ = 0;
  std::atomic<bool> cancelled_ = false;
  std::thread thread_;
};

}  // namespace tilewright::service
