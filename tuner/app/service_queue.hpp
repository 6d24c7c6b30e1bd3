// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/store/job_queue.hpp"
#include "tuner/app/place.hpp"
#include "tuner/report/table.hpp"

/// Requests to a service's queue (docs/service.md): misses, and campaigns over ops that are on this machine. Nothing
/// that comes with a request is source, a file's name or a command.
namespace tilewright::app {

/// A device of this machine by its name (cpu, cuda:0), and as caches know it.
struct TuningDevice {
  std::string name;
  std::string fingerprint;
};
/// `all`: every GPU. Throws UsageError for what is no device, DeviceError for one that cannot be asked.
[[nodiscard]] std::vector<TuningDevice> tuning_devices(const std::vector<std::string>& names);

/// The asker, and the key by which the same request is not done twice; empty: none.
struct Submitter {
  std::string name;
  std::string key;
};

/// `{"misses": [{"problem": "softmax[dtype=bf16]{rows=8,cols=100}", "device": "…", "count": 3}]}`, 10,000 at most. What
/// is no problem of an op here is refused by itself, with the reason. Nothing where the key came with another request.
/// Throws UsageError for another document.
[[nodiscard]] std::optional<JobQueue::Answer> report_misses(const Place& place, const std::string& document,
                                                            const Submitter& submitter);

/// As campaigns may have it, below 0 as well. Those below 0 wait for misses, too.
inline constexpr std::int64_t kMostPriority = 100;

/// A campaign as JSON: `name`, `devices`, `budget`, `priority`, and `sweeps`, each with an `op`, the hash of its
/// `interface` and, where it matters, those of its `implementations`, `dtype`, `attributes` and `shapes`
/// (docs/tuning.md). Throws UsageError where the ops here are not those that the hashes name, and for devices that are
/// not among `devices`.
[[nodiscard]] std::optional<JobQueue::Answer> submit_campaign(const Place& place, std::span<const TuningDevice> devices,
                                                              const std::string& document, const Submitter& submitter);
/// False where there is none, or it is over.
[[nodiscard]] bool cancel_campaign(const Place& place, std::int64_t id);

/// The latest first.
[[nodiscard]] Table list_campaigns(const Place& place);
/// Its jobs, with what it is in the summary; nothing where there is no such campaign.
[[nodiscard]] std::optional<Table> show_campaign(const Place& place, std::int64_t id);
/// Reported misses that wait, the most asked first.
[[nodiscard]] Table list_reported_misses(const Place& place);

/// The numbers of waiting and running jobs.
[[nodiscard]] JobQueue::Depth queue_depth(const Place& place);

/// Why a job of the campaign may not run: the op here is another than the one submitted. Empty: it may.
[[nodiscard]] std::string why_other_op(const std::string& definition, const std::string& op, Catalogue& catalogue);
/// The budget of each job of the campaign; 0: no bound.
[[nodiscard]] std::chrono::nanoseconds budget_of_job(const StoredCampaign& campaign);

}  // namespace tilewright::app
