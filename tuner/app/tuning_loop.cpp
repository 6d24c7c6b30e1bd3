// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/tuning_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/app/sweep.hpp"

namespace tilewright::app {
namespace {

constexpr std::size_t kMostMisses = 1000;
constexpr std::int64_t kMostAttempts = 3;

/// 0 if no op here describes the miss.
double weight_of(const Miss& miss, Catalogue& catalogue) try {
  const OpDefinition& definition = catalogue.find(op_name_of(miss.shape_key));
  const Problem problem = parse_problem(miss.shape_key, definition.interface);
  return static_cast<double>(miss.count) * static_cast<double>(definition.bytes_of(problem));
} catch (const UsageError&) {
  return 0;
}

/// A job of a campaign, else the heaviest miss, else a job of a campaign that waits for misses.
std::optional<Job> next_job(JobQueue& queue, std::span<const TuningDevice> devices, Catalogue& catalogue) {
  std::vector<std::string> fingerprints;
  for (const TuningDevice& device : devices) fingerprints.push_back(device.fingerprint);
  if (std::optional<Job> job = queue.take(fingerprints, 0)) return job;
  std::optional<std::pair<double, Miss>> heaviest;
  for (Miss& miss : queue.misses_to_tune(fingerprints, kMostMisses)) {
    const double weight = weight_of(miss, catalogue);
    if (weight > 0 && (!heaviest || weight > heaviest->first)) heaviest = {weight, std::move(miss)};
  }
  return heaviest ? queue.take(heaviest->second) : queue.take(fingerprints, -kMostPriority);
}

struct End {
  JobState state = JobState::done;
  std::string reason{};
  /// Whether each device that may run the job has tried it.
  bool all_tried = false;
};

End end_of(const std::optional<SweepResult>& result) {
  if (!result || result->summary.interrupted) return {JobState::queued, "interrupted"};
  const SweepSummary& summary = result->summary;
  if (!summary.lost.empty()) return {JobState::queued, summary.lost.front()};
  if (summary.without_winner > 0) {
    return {JobState::failed, result->refusals.empty() ? "no config of it is right" : result->refusals};
  }
  if (!summary.base_failures.empty()) return {JobState::done, summary.base_failures.front()};
  return {};
}

/// The devices of the job's model; if the campaign names some of them, only those.
std::vector<std::string> names_for(const Job& job, std::span<const TuningDevice> devices,
                                   const std::vector<std::string>& named) {
  std::vector<std::string> names;
  for (const TuningDevice& device : devices) {
    if (device.fingerprint == job.device_fingerprint) names.push_back(device.name);
  }
  const auto is_other = [&](const std::string& name) { return !holds(named, name); };
  if (!std::ranges::all_of(names, is_other)) std::erase_if(names, is_other);
  return names;
}

End end_of_sweep(const SweepProblems& request, JobListener& listener) try {
  return end_of(sweep(request, listener));
} catch (const DeviceError& error) {
  return {JobState::queued, error.what()};
}

End run_job(const Place& place, const Job& job, JobQueue& queue, std::span<const TuningDevice> devices,
            Catalogue& catalogue, JobListener& listener) try {
  SweepProblems request;
  request.place = place;
  request.tuning.command = "serve";
  std::vector<std::string> named;
  if (job.campaign) {
    const std::optional<StoredCampaign> campaign = queue.campaign(*job.campaign);
    if (!campaign) return {JobState::failed, "its campaign is damaged"};
    if (std::string why = why_other_op(campaign->definition, op_name_of(job.shape_key), catalogue); !why.empty()) {
      return {JobState::failed, std::move(why)};
    }
    request.tuning.command = fmt::format("serve, campaign {}", *job.campaign);
    request.tuning.budget = budget_of_job(*campaign);
    named = devices_of(*campaign);
  }
  request.tuning.mode = job.mode;
  // Another one at each attempt: the last may be lost.
  const std::vector<std::string> names = names_for(job, devices, named);
  request.tuning.work.devices = {names[static_cast<std::size_t>(job.attempts - 1) % names.size()]};
  request.grids.emplace_back().words = read_problem_words({job.shape_key});
  End end = end_of_sweep(request, listener);
  end.all_tried = static_cast<std::size_t>(job.attempts) % names.size() == 0;
  return end;
} catch (const CacheError&) {
  throw;
} catch (const Error& error) {
  return {JobState::failed, error.what()};
}

}  // namespace

void take_up_jobs(const Place& place) { JobQueue(cache_path(place)).recover(); }

Next tune_next(const Place& place, std::span<const TuningDevice> devices, JobListener& listener) {
  JobQueue queue(cache_path(place));
  Catalogue catalogue = open_catalogue(place);
  const std::optional<Job> job = next_job(queue, devices, catalogue);
  if (!job) return Next::nothing;
  listener.job_started(*job);
  End end = run_job(place, *job, queue, devices, catalogue, listener);
  Next next = Next::at_once;
  if (end.state == JobState::queued && listener.cancelled()) {
    queue.put_back(*job, end.reason);
  } else {
    if (end.state == JobState::queued && job->attempts >= kMostAttempts) end.state = JobState::failed;
    if (end.state == JobState::queued && end.all_tried) next = Next::later;
    queue.finish(*job, end.state, end.reason);
  }
  listener.job_done(*job, end.state, end.reason);
  return next;
}

}  // namespace tilewright::app
