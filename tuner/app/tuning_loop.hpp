// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "tuner/app/listener.hpp"
#include "tuner/app/service_queue.hpp"

/// Tunes what is queued, by the command line's sweep and under its locks.
namespace tilewright::app {

class JobListener : public Listener {
 public:
  virtual void job_started(const Job& job) = 0;
  /// `queued`: it waits again.
  virtual void job_done(const Job& job, JobState state, const std::string& reason) = 0;
};

/// One job: of the campaigns in their order, then of misses the one with the greatest weight, which is how often it was
/// asked for times its bytes. False where there is none for these devices. A job whose device was lost waits again, a
/// campaign's three times at most; one that is cancelled waits again, unless its campaign is.
[[nodiscard]] bool tune_next(const Place& place, std::span<const TuningDevice> devices, JobListener& listener);

/// To be called once, before the first: jobs that ran when the service before was killed wait again.
void take_up_jobs(const Place& place);

}  // namespace tilewright::app
