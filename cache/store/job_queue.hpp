// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/model/records.hpp"
#include "cache/store/sqlite/access.hpp"

/// The queue of a service: misses that applications reported, and campaigns with their problems one by one. Its rows
/// are in the cache and outlive the service: acknowledged work survives a kill. It goes on without damaged rows, which
/// `cache gc --damaged` takes out. For one thread at a time.
namespace tilewright {

enum class JobState : std::uint8_t { queued, running, done, cancelled, failed };
[[nodiscard]] const char* name_of(JobState state) noexcept;

/// A problem to be tuned on a device.
struct Job {
  std::int64_t id = 0;
  /// nullopt: the job of a miss.
  std::optional<std::int64_t> campaign{};
  std::string shape_key{};
  std::string device_fingerprint{};
  MeasureMode mode = MeasureMode::cold;
  JobState state = JobState::queued;
  /// How often it was started.
  std::int64_t attempts = 0;
  /// Counts its takers: the result of an earlier one comes too late.
  std::int64_t epoch = 0;
  /// Why it ended in this state.
  std::string reason{};
};

struct StoredCampaign {
  std::int64_t id = 0;
  std::string name{};
  /// The campaign as it was submitted.
  std::string definition{};
  /// queued, running, done, partly, cancelled or failed
  std::string state = "queued";
  std::string submitted_by{};
  std::int64_t submitted_at = 0;
  std::optional<std::int64_t> ended_at{};
  std::string reason{};
  // Counts of its jobs.
  std::int64_t jobs = 0, done = 0, failed = 0;
  /// The definition's priority; 0 if it has none.
  std::int64_t priority = 0;
};

class JobQueue {
 public:
  /// Most misses (a shape on a device) and jobs that may wait.
  static constexpr std::int64_t kMostMisses = 100'000;
  static constexpr std::int64_t kMostJobs = 100'000;

  /// Makes the cache if it does not exist and `access` writes. Throws CacheError.
  explicit JobQueue(const std::filesystem::path& cache, StoreAccess access = StoreAccess::write);
  ~JobQueue();
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  struct Answer {
    int status = 0;
    std::string text;
  };
  /// Runs `work` and keeps its answer, in one transaction: for a day the same `key` gets the same answer, and nothing
  /// is done again. nullopt if the key came with another request. `key` empty: no answer is kept. If `work` throws,
  /// nothing is stored.
  [[nodiscard]] std::optional<Answer> once(const std::string& key, const std::string& request_hash,
                                           const std::function<Answer()>& work);

  // Within once().
  /// False if too many wait.
  [[nodiscard]] bool report(const Miss& miss);
  /// Returns its id, or nullopt if too many jobs wait.
  [[nodiscard]] std::optional<std::int64_t> submit(const StoredCampaign& campaign, std::span<const Job> jobs);

  /// Cancels a campaign and its jobs that are not over. False if there is none, or if it is over.
  bool cancel(std::int64_t campaign);
  /// The latest first, at most 1000.
  [[nodiscard]] std::vector<StoredCampaign> campaigns();
  [[nodiscard]] std::optional<StoredCampaign> campaign(std::int64_t id);
  [[nodiscard]] std::vector<Job> jobs_of(std::int64_t campaign);
  /// Numbers of jobs that wait or run, and of misses.
  struct Depth {
    std::int64_t queued = 0, running = 0, misses = 0;
  };
  [[nodiscard]] Depth depth();

  /// Queues campaigns' jobs again that ran when the last service was killed, and ends campaigns whose last open job was
  /// damaged. Misses make their jobs anew.
  void recover();
  /// Starts the next job on one of these devices: of the campaign of the highest priority, which is `least` or more; of
  /// equals the one that came first.
  [[nodiscard]] std::optional<Job> take(std::span<const std::string> fingerprints, std::int64_t least);
  /// Misses, the most asked first, at most `most`; those that failed before are left out.
  [[nodiscard]] std::vector<Miss> misses_to_tune(std::span<const std::string> fingerprints, std::size_t most);
  /// Makes a job of a miss and starts it.
  [[nodiscard]] Job take(const Miss& miss);
  /// Sets the job's state; `queued`: it waits again. A tuned miss is forgotten; a campaign ends with its last job.
  void finish(const Job& job, JobState state, std::string_view reason);
  /// The job waits again, and the attempt does not count.
  void put_back(const Job& job, std::string_view reason);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright
