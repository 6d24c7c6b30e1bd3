// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/tuner.hpp"

#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tuner/app/tuning_loop.hpp"

namespace tilewright::service {

using Json = nlohmann::ordered_json;

/// Turns a sweep's reports into events.
class Tuner::Teller final : public app::JobListener {
 public:
  explicit Teller(Tuner& tuner) : tuner_(tuner) {}

  void job_started(const Job& job) override {
    campaign_ = job.campaign.value_or(0);
    tell(job_event("job_started", job));
  }
  void job_done(const Job& job, JobState state, const std::string& reason) override {
    if (state == JobState::queued && tuner_.is_cancelled(campaign_)) state = JobState::cancelled;
    // Later jobs are of other campaigns: the cache has these as cancelled.
    tuner_.forget_cancelled();
    Json event = job_event("job_done", job);
    event["state"] = name_of(state);
    event["reason"] = reason;
    tell(event);
  }

  void problem_started(const Problem& problem, std::size_t index, std::size_t of, std::size_t configs,
                       std::size_t known) override {
    tell({{"event", "problem_started"},
          {"problem", problem.key()},
          {"index", index},
          {"of", of},
          {"configs", configs},
          {"known", known}});
  }
  void trial_done(const Problem& problem, const Trial& trial, bool is_best) override {
    Json event{{"event", "trial"},
               {"problem", problem.key()},
               {"config", trial.config.text()},
               {"status", std::string(name(trial.status))}};
    if (!trial.reason.empty()) event["reason"] = trial.reason;
    if (trial.timing) event["median_ns"] = trial.timing->median_ns;
    event["best"] = is_best;
    tell(event);
  }
  void problem_done(const Problem& problem, const std::vector<Winner>& winners) override {
    Json event{{"event", "problem_done"}, {"problem", problem.key()}, {"winner", nullptr}};
    if (!winners.empty()) {
      event["winner"] = winners.front().trial.config.text();
      if (winners.front().trial.timing) event["median_ns"] = winners.front().trial.timing->median_ns;
    }
    tell(event);
  }
  void note(const std::string& line) override { tell({{"event", "note"}, {"text", line}}); }
  void tell(const std::string& line) override { note(line); }
  void warn(const std::string& line) override { note(line); }
  void planned(std::size_t /*done*/, std::size_t /*of*/) override {}
  void sweep_done(const SweepSummary& summary, const std::filesystem::path& /*cache*/) override {
    tell({{"event", "sweep_done"},
          {"measured", summary.measured},
          {"failed", summary.failed},
          {"known", summary.reused},
          {"compiled", summary.compiled},
          {"seconds", summary.wall_seconds.count()}});
  }
  [[nodiscard]] bool cancelled() const override { return tuner_.stopping_ || tuner_.is_cancelled(campaign_); }

 private:
  static Json job_event(const char* event, const Job& job) {
    Json json{{"event", event}, {"problem", job.shape_key}, {"device", job.device_fingerprint}};
    json["campaign"] = job.campaign ? Json(*job.campaign) : Json(nullptr);
    return json;
  }
  void tell(const Json& event) { tuner_.tell_(event); }

  Tuner& tuner_;
  /// Campaign of the job under way; 0: a miss.
  std::int64_t campaign_ = 0;
};

Tuner::Tuner(app::Place place, std::vector<app::TuningDevice> devices, Tell tell)
    : place_(std::move(place)), devices_(std::move(devices)), tell_(std::move(tell)) {}

void Tuner::start() {
  if (!devices_.empty()) thread_ = std::thread([this] { run(); });
}

Tuner::~Tuner() {
  stop();
  if (thread_.joinable()) thread_.join();
}

void Tuner::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  wake_.notify_one();
}

void Tuner::cancel(std::int64_t campaign) {
  const std::lock_guard lock(mutex_);
  cancelled_.insert(campaign);
}

bool Tuner::is_cancelled(std::int64_t campaign) {
  const std::lock_guard lock(mutex_);
  return cancelled_.contains(campaign);
}

void Tuner::forget_cancelled() {
  const std::lock_guard lock(mutex_);
  cancelled_.clear();
}

void Tuner::stop() {
  stopping_ = true;
  wake();
}

void Tuner::run() {
  Teller teller(*this);
  bool taken_up = false;
  while (!stopping_) {
    app::Next next = app::Next::nothing;
    try {
      if (!taken_up) app::take_up_jobs(place_);
      taken_up = true;
      next = app::tune_next(place_, devices_, teller);
    } catch (const std::exception& error) {
      // Such as a full disk or a damaged cache: reported, and tried again.
      tell_({{"event", "error"}, {"text", error.what()}});
    }
    if (next == app::Next::at_once) continue;
    std::unique_lock lock(mutex_);
    // A timeout, since other processes may queue in the same cache and a lost device may be back.
    wake_.wait_for(lock, std::chrono::seconds(30), [this] { return woken_ || stopping_; });
    woken_ = false;
  }
}

}  // namespace tilewright::service
