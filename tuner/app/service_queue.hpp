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

/// Requests to a service's queue (docs/service.md): misses, and campaigns over ops that are on this machine. No part of
/// a request is source, a file name or a command.
namespace tilewright::app {

/// A device of this machine: its name (cpu, cuda:0) and its fingerprint.
struct TuningDevice {
  std::string name;
  std::string fingerprint;
};
/// `all` means all GPUs. Throws UsageError for a name of no device, DeviceError for a device that cannot be queried.
[[nodiscard]] std::vector<TuningDevice> tuning_devices(const std::vector<std::string>& names);

/// The client, and the key that keeps a repeated request from being done twice; empty: no key.
struct Submitter {
  std::string name;
  std::string key;
};

/// `{"misses": [{"problem": "softmax[dtype=bf16]{rows=8,cols=100}", "device": "…", "count": 3}]}`, 10,000 at most. An
/// entry that is no problem of an op here is refused by itself, with the reason. nullopt if the key came with another
/// request. Throws UsageError for any other document.
[[nodiscard]] std::optional<JobQueue::Answer> report_misses(const Place& place, const std::string& document,
                                                            const Submitter& submitter);

/// The bound of a campaign's priority, above and below 0. Campaigns below 0 wait for misses, too.
inline constexpr std::int64_t kMostPriority = 100;

/// A campaign as JSON: `name`, `devices`, `budget`, `priority`, and `sweeps`, each with an `op`, the hash of its
/// `interface`, optionally the hashes of its `implementations`, `dtype`, `attributes` and `shapes` (docs/tuning.md).
/// nullopt as in report_misses(). Throws UsageError if the ops here do not have the hashes, or a device is not in
/// `devices`.
[[nodiscard]] std::optional<JobQueue::Answer> submit_campaign(const Place& place, std::span<const TuningDevice> devices,
                                                              const std::string& document, const Submitter& submitter);
/// False if it does not exist or is over.
[[nodiscard]] bool cancel_campaign(const Place& place, std::int64_t id);

/// The latest first.
[[nodiscard]] Table list_campaigns(const Place& place);
/// The jobs of a campaign, with its state in the summary; nullopt if it does not exist.
[[nodiscard]] std::optional<Table> show_campaign(const Place& place, std::int64_t id);
/// The reported misses that wait, the most requested first.
[[nodiscard]] Table list_reported_misses(const Place& place);

/// The numbers of waiting and running jobs.
[[nodiscard]] JobQueue::Depth queue_depth(const Place& place);

/// Why a job of the campaign may not run: the op here is not the submitted one. Empty if it may.
[[nodiscard]] std::string why_other_op(const std::string& definition, const std::string& op, Catalogue& catalogue);
/// The devices that the campaign names; empty: all.
[[nodiscard]] std::vector<std::string> devices_of(const StoredCampaign& campaign);
/// The budget of each job of the campaign; 0: no bound.
[[nodiscard]] std::chrono::nanoseconds budget_of_job(const StoredCampaign& campaign);

}  // namespace tilewright::app
