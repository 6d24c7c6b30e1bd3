// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "tuner/app/listener.hpp"
#include "tuner/app/service_queue.hpp"

/// Tunes queued jobs as `sweep` does, under the same locks.
namespace tilewright::app {

class JobListener : public Listener {
 public:
  virtual void job_started(const Job& job) = 0;
  /// With `queued`, the job waits again.
  virtual void job_done(const Job& job, JobState state, const std::string& reason) = 0;
};

/// When to look for the next job: never until something is queued, at once, or, if each of a job's devices was lost,
/// later.
enum class Next { nothing, at_once, later };

/// Tunes one job: a campaign's, in the campaigns' order, else the miss with the greatest weight, which is its requests
/// times its bytes. A job whose device was lost waits again, up to three attempts,
/// which go round the devices of its model, or those of them that its campaign names. A cancelled job waits again,
/// unless its campaign is cancelled.
[[nodiscard]] Next tune_next(const Place& place, std::span<const TuningDevice> devices, JobListener& listener);

/// Call it once, before the first tune_next(): jobs that ran when the last service was killed wait again.
void take_up_jobs(const Place& place);

}  // namespace tilewright::app
