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
/// lie in the cache and outlive the service: what was acknowledged is there after a kill. For one thread at a time.
namespace tilewright {

enum class JobState : std::uint8_t { queued, running, done, cancelled, failed };
[[nodiscard]] const char* name_of(JobState state) noexcept;

/// A problem to be tuned on a device.
struct Job {
  std::int64_t id = 0;
  /// Nothing: of misses.
  std::optional<std::int64_t> campaign{};
  std::string shape_key{};
  std::string device_fingerprint{};
  MeasureMode mode = MeasureMode::cold;
  JobState state = JobState::queued;
  /// How often it was begun.
  std::int64_t attempts = 0;
  /// Counts who had it: what an older one brings comes too late.
  std::int64_t epoch = 0;
  /// Why it ended so.
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
  // Of its jobs.
  std::int64_t jobs = 0, done = 0, failed = 0;
  /// The definition's priority; 0 where it has none.
  std::int64_t priority = 0;

  [[nodiscard]] bool is_over() const { return state != "queued" && state != "running"; }
};

class JobQueue {
 public:
  /// Shapes that may wait, each on its device, and jobs.
  static constexpr std::int64_t kMostMisses = 100'000;
  static constexpr std::int64_t kMostJobs = 100'000;

  /// Makes the cache where there is none, unless it is only read. Throws CacheError.
  explicit JobQueue(const std::filesystem::path& cache, StoreAccess access = StoreAccess::write);
  ~JobQueue();
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  struct Answer {
    int status = 0;
    std::string text;
  };
  /// Does `work` and keeps its answer, in one transaction: the same `key` is answered the same for a day, and nothing
  /// is done again. Nothing where the key came with another request; `key` empty: nothing is kept. What throws leaves
  /// nothing.
  [[nodiscard]] std::optional<Answer> once(const std::string& key, const std::string& request_hash,
                                           const std::function<Answer()>& work);

  // Within once().
  /// False where too many wait.
  [[nodiscard]] bool report(const Miss& miss);
  /// Returns its id; nothing where too many jobs wait.
  [[nodiscard]] std::optional<std::int64_t> submit(const StoredCampaign& campaign, std::span<const Job> jobs);

  /// With its jobs, those that are not over. False where there is none, or it is over.
  bool cancel(std::int64_t campaign);
  /// The latest first.
  [[nodiscard]] std::vector<StoredCampaign> campaigns();
  [[nodiscard]] std::optional<StoredCampaign> campaign(std::int64_t id);
  [[nodiscard]] std::vector<Job> jobs_of(std::int64_t campaign);
  /// Jobs that wait or run, and misses.
  struct Depth {
    std::int64_t queued = 0, running = 0, misses = 0;
  };
  [[nodiscard]] Depth depth();

  /// Jobs that ran when the service before was killed wait again.
  void recover();
  /// The next on one of these devices, which runs from now on: of the campaign of the highest priority, which is
  /// `least` or more; of equals the one that came first.
  [[nodiscard]] std::optional<Job> take(std::span<const std::string> fingerprints, std::int64_t least);
  /// The most asked first, at most so many; those that failed before are left out.
  [[nodiscard]] std::vector<Miss> misses_to_tune(std::span<const std::string> fingerprints, std::size_t most);
  /// A job that runs from now on.
  [[nodiscard]] Job take(const Miss& miss);
  /// It ended so, or waits again (`queued`). A miss that is tuned is forgotten; with its last job a campaign is over.
  void finish(const Job& job, JobState state, std::string_view reason);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright
