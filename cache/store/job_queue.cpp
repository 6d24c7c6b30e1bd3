// SPDX-License-Identifier: Apache-2.0
#include "cache/store/job_queue.hpp"

#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cache/base/holds.hpp"
#include "cache/base/units.hpp"
#include "cache/store/store_impl.hpp"

namespace tilewright {
namespace {

constexpr std::array<const char*, 5> kStates{"queued", "running", "done", "cancelled", "failed"};

JobState decode_state(const std::string& text) {
  const auto found = std::ranges::find(kStates, text);
  return static_cast<JobState>(found == kStates.end() ? 4 : found - kStates.begin());
}

// The queue goes on without its damaged rows: `intact` would throw at the first, and an update would give a row a right
// checksum.
constexpr const char* kWholeJob =
    "j.checksum = row_hash('jobs', j.id, j.campaign, j.shape_key, j.device_fingerprint, j.mode, j.state, j.attempts, "
    "j.epoch, j.worker, j.leased_until, j.sweep, j.reason)";
constexpr const char* kWholeCampaign =
    "c.checksum = row_hash('campaigns', c.id, c.name, c.definition, c.state, c.submitted_by, c.submitted_at, "
    "c.ended_at, c.reason)";
constexpr const char* kWholeMiss =
    "m.checksum = row_hash('misses', m.id, m.shape_key, m.device_fingerprint, m.count, m.first_at, m.last_at)";

constexpr const char* kJobsOf = R"(
SELECT j.id, j.campaign, j.shape_key, j.device_fingerprint, j.mode, j.state, j.attempts, j.epoch, j.reason FROM jobs j
WHERE j.campaign = ? AND {} ORDER BY j.id)";
constexpr const char* kQueued = R"(
SELECT j.id, j.campaign, j.shape_key, j.device_fingerprint, j.mode, j.state, j.attempts, j.epoch, j.reason
FROM (SELECT id, iif(json_valid(definition), ifnull(json_extract(definition, '$.priority'), 0), 0) AS priority
      FROM campaigns c WHERE state IN ('queued', 'running') AND {}) c
JOIN jobs j ON j.campaign = c.id WHERE j.state = 'queued' AND c.priority >= ? AND {}
ORDER BY c.priority DESC, j.campaign, j.attempts, j.id)";

Job decode_job(const Query& row) {
  return {row.integer(0),
          row.maybe_integer(1),
          row.text(2),
          row.text(3),
          measure_mode_from(row.text(4)).value_or(MeasureMode::cold),
          decode_state(row.text(5)),
          row.integer(6),
          row.integer(7),
          row.text(8)};
}

// Of all, the whole ones; one that is asked for by its id says that it is damaged.
constexpr const char* kCampaigns = R"(
SELECT c.id, c.name, c.definition, c.state, c.submitted_by, c.submitted_at, c.ended_at, c.reason, count(j.id),
  ifnull(sum(j.state = 'done'), 0), ifnull(sum(j.state = 'failed'), 0),
  iif(json_valid(c.definition), json_extract(c.definition, '$.priority'), 0)
FROM campaigns c LEFT JOIN jobs j ON j.campaign = c.id AND {}
WHERE CASE ?1 WHEN 0 THEN {} WHEN c.id THEN c.intact ELSE 0 END
GROUP BY c.id ORDER BY c.id DESC LIMIT 1000)";

StoredCampaign decode_campaign(const Query& row) {
  return {row.integer(0),       row.text(1), row.text(2),    row.text(3),    row.text(4),     row.integer(5),
          row.maybe_integer(6), row.text(7), row.integer(8), row.integer(9), row.integer(10), row.integer(11)};
}

}  // namespace

const char* name_of(JobState state) noexcept { return kStates[static_cast<std::size_t>(state)]; }

/// The frame around each access: turns a refusal by SQLite into a CacheError.
struct JobQueue::Impl {
  Impl(const std::filesystem::path& path, StoreAccess access) : database(path, {.access = access}) {}

  template <class Work>
  auto reading(const char* doing, Work work) {
    database.begin_access();
    try {
      return work();
    } catch (const SQLite::Exception& refusal) {
      throw fault(doing, database.path(), refusal, database.busy_timeout());
    }
  }
  /// In a transaction; within once(), in the transaction of that.
  template <class Work>
  auto writing(const char* doing, Work work) {
    return reading(doing, [&] {
      if (in_once) return work();
      Transaction transaction = database.begin_write();
      auto result = work();
      transaction.commit();
      return result;
    });
  }
  /// All: 0.
  [[nodiscard]] Query campaigns(std::int64_t id) {
    static const std::string kSql = fmt::format(kCampaigns, kWholeJob, kWholeCampaign);
    return database.query(kSql.c_str(), id);
  }
  [[nodiscard]] std::int64_t count(const char* sql) {
    Query row = database.query(sql);
    row.next();
    return row.integer(0);
  }
  /// Ends a campaign of which no whole job waits or runs.
  void end_if_over(std::int64_t campaign);

  Database database;
  bool in_once = false;
};

void JobQueue::Impl::end_if_over(std::int64_t campaign) {
  static const std::string kLeft = fmt::format(
      "SELECT sum(j.state IN ('queued', 'running')), sum(j.state = 'done'), sum(j.state = 'failed') FROM jobs j "
      "WHERE j.campaign = ? AND {}",
      kWholeJob);
  Query left = database.query(kLeft.c_str(), campaign);
  if (!left.next() || left.integer(0) > 0) return;
  // Of no whole job, nothing is done.
  const char* const end = left.integer(1) == 0 ? "failed" : left.integer(2) == 0 ? "done" : "partly";
  static const std::string kEnd = fmt::format(
      "UPDATE campaigns AS c SET state = ?1, ended_at = ?2, reason = ifnull((SELECT j.reason FROM jobs j "
      "WHERE j.campaign = c.id AND j.state = 'failed' AND {} ORDER BY j.id LIMIT 1), "
      "iif(?1 = 'failed', 'its jobs were damaged', '')) WHERE c.id = ?3 AND c.state IN ('queued', 'running') AND {}",
      kWholeJob, kWholeCampaign);
  database.run(kEnd.c_str(), end, now_seconds(), campaign);
}

JobQueue::JobQueue(const std::filesystem::path& cache, StoreAccess access)
    : impl_(std::make_unique<Impl>(cache, access)) {}
JobQueue::~JobQueue() = default;

std::optional<JobQueue::Answer> JobQueue::once(const std::string& key, const std::string& request_hash,
                                               const std::function<Answer()>& work) {
  return impl_->writing("keep a request", [&, &database = impl_->database]() -> std::optional<Answer> {
    const std::int64_t now = now_seconds();
    if (!key.empty()) {
      database.run("DELETE FROM idempotency_keys WHERE answered_at < ?", now - kSecondsOfADay);
      Query known =
          database.query("SELECT request_hash, status, answer FROM idempotency_keys WHERE key = ? AND intact", key);
      if (known.next()) {
        if (known.text(0) != request_hash) return std::nullopt;
        return Answer{known.small(1), known.text(2)};
      }
    }
    impl_->in_once = true;
    std::optional<Answer> answer;
    try {
      answer = work();
    } catch (...) {
      impl_->in_once = false;
      throw;
    }
    impl_->in_once = false;
    if (!key.empty()) {
      database.run(
          "INSERT OR REPLACE INTO idempotency_keys (key, request_hash, status, answer, answered_at) VALUES (?, ?, ?, "
          "?, ?)",
          key, request_hash, answer->status, answer->text, now);
    }
    return answer;
  });
}

bool JobQueue::report(const Miss& miss) {
  return impl_->writing("store a miss", [&, &database = impl_->database] {
    const std::int64_t now = now_seconds();
    static const std::string kDamaged = fmt::format(
        "DELETE FROM misses AS m WHERE m.shape_key = ? AND m.device_fingerprint = ? AND NOT ({})", kWholeMiss);
    database.run(kDamaged.c_str(), miss.shape_key, miss.device_fingerprint);
    {
      Query known = database.query("SELECT 1 FROM misses WHERE shape_key = ? AND device_fingerprint = ?",
                                   miss.shape_key, miss.device_fingerprint);
      if (!known.next() && impl_->count("SELECT count(*) FROM misses") >= kMostMisses) return false;
    }
    database.run(
        "INSERT INTO misses (shape_key, device_fingerprint, count, first_at, last_at) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (shape_key, device_fingerprint) DO UPDATE SET count = count + excluded.count, "
        "last_at = excluded.last_at",
        miss.shape_key, miss.device_fingerprint, miss.count, now, now);
    return true;
  });
}

std::optional<std::int64_t> JobQueue::submit(const StoredCampaign& campaign, std::span<const Job> jobs) {
  return impl_->writing("submit a campaign", [&, &database = impl_->database]() -> std::optional<std::int64_t> {
    const std::int64_t waiting = impl_->count("SELECT count(*) FROM jobs WHERE state = 'queued'");
    if (waiting + static_cast<std::int64_t>(jobs.size()) > kMostJobs) return std::nullopt;
    database.run(
        "INSERT INTO campaigns (name, definition, state, submitted_by, submitted_at, reason) VALUES (?, ?, 'queued', "
        "?, ?, '')",
        campaign.name, campaign.definition, campaign.submitted_by, now_seconds());
    const std::int64_t id = database.last_id();
    for (const Job& job : jobs) {
      database.run(
          "INSERT INTO jobs (campaign, shape_key, device_fingerprint, mode, state, attempts, epoch, worker, reason) "
          "VALUES (?, ?, ?, ?, 'queued', 0, 0, '', '')",
          id, job.shape_key, job.device_fingerprint, name(job.mode));
    }
    return id;
  });
}

bool JobQueue::cancel(std::int64_t campaign) {
  return impl_->writing("cancel a campaign", [&, &database = impl_->database] {
    static const std::string kCancel = fmt::format(
        "UPDATE campaigns AS c SET state = 'cancelled', ended_at = ?, reason = 'cancelled' "
        "WHERE c.id = ? AND c.state IN ('queued', 'running') AND {}",
        kWholeCampaign);
    database.run(kCancel.c_str(), now_seconds(), campaign);
    if (impl_->count("SELECT changes()") == 0) return false;
    static const std::string kCancelJobs = fmt::format(
        "UPDATE jobs AS j SET state = 'cancelled', epoch = epoch + 1 "
        "WHERE j.campaign = ? AND j.state IN ('queued', 'running') AND {}",
        kWholeJob);
    database.run(kCancelJobs.c_str(), campaign);
    return true;
  });
}

std::vector<StoredCampaign> JobQueue::campaigns() {
  return impl_->reading("list campaigns", [&] {
    std::vector<StoredCampaign> campaigns;
    Query row = impl_->campaigns(0);
    while (row.next()) campaigns.push_back(decode_campaign(row));
    return campaigns;
  });
}

std::optional<StoredCampaign> JobQueue::campaign(std::int64_t id) {
  if (id <= 0) return std::nullopt;
  return impl_->reading("read a campaign", [&]() -> std::optional<StoredCampaign> {
    Query row = impl_->campaigns(id);
    if (!row.next()) return std::nullopt;
    return decode_campaign(row);
  });
}

std::vector<Job> JobQueue::jobs_of(std::int64_t campaign) {
  return impl_->reading("list jobs", [&] {
    static const std::string kSql = fmt::format(kJobsOf, kWholeJob);
    std::vector<Job> jobs;
    Query row = impl_->database.query(kSql.c_str(), campaign);
    while (row.next()) jobs.push_back(decode_job(row));
    return jobs;
  });
}

JobQueue::Depth JobQueue::depth() {
  return impl_->reading("count jobs", [&] {
    return Depth{impl_->count("SELECT count(*) FROM jobs WHERE state = 'queued'"),
                 impl_->count("SELECT count(*) FROM jobs WHERE state = 'running'"),
                 impl_->count("SELECT count(*) FROM misses")};
  });
}

void JobQueue::recover() {
  impl_->writing("take up jobs", [&, &database = impl_->database] {
    // A miss that is still stored makes a new job.
    database.run("DELETE FROM jobs WHERE state IN ('queued', 'running') AND campaign IS NULL");
    static const std::string kRequeue = fmt::format(
        "UPDATE jobs AS j SET state = 'queued', epoch = epoch + 1 WHERE state = 'running' AND {}", kWholeJob);
    database.run(kRequeue.c_str());
    // The last open job of a campaign may have been damaged.
    static const std::string kOpen =
        fmt::format("SELECT c.id FROM campaigns c WHERE c.state IN ('queued', 'running') AND {}", kWholeCampaign);
    std::vector<std::int64_t> open;
    {
      Query row = database.query(kOpen.c_str());
      while (row.next()) open.push_back(row.integer(0));
    }
    for (const std::int64_t campaign : open) impl_->end_if_over(campaign);
    return true;
  });
}

std::optional<Job> JobQueue::take(std::span<const std::string> fingerprints, std::int64_t least) {
  return impl_->writing("take a job", [&, &database = impl_->database]() -> std::optional<Job> {
    static const std::string kSql = fmt::format(kQueued, kWholeCampaign, kWholeJob);
    std::optional<Job> found;
    {
      Query row = database.query(kSql.c_str(), least);
      while (!found && row.next()) {
        if (Job job = decode_job(row); holds(fingerprints, job.device_fingerprint)) found = std::move(job);
      }
    }
    if (!found) return found;
    found->state = JobState::running;
    ++found->attempts;
    ++found->epoch;
    database.run("UPDATE jobs SET state = 'running', attempts = ?, epoch = ? WHERE id = ?", found->attempts,
                 found->epoch, found->id);
    database.run("UPDATE campaigns SET state = 'running' WHERE id = ? AND state = 'queued'", found->campaign);
    return found;
  });
}

std::vector<Miss> JobQueue::misses_to_tune(std::span<const std::string> fingerprints, std::size_t most) {
  return impl_->reading("list misses", [&] {
    static const std::string kSql = fmt::format(
        "SELECT m.shape_key, m.device_fingerprint, m.count, m.first_at, m.last_at FROM misses m WHERE {} AND NOT "
        "EXISTS (SELECT 1 FROM jobs j WHERE j.state = 'failed' AND j.campaign IS NULL AND j.shape_key = m.shape_key "
        "AND j.device_fingerprint = m.device_fingerprint) ORDER BY m.count DESC, m.id",
        kWholeMiss);
    std::vector<Miss> misses;
    Query row = impl_->database.query(kSql.c_str());
    while (misses.size() < most && row.next()) {
      if (!holds(fingerprints, row.text(1))) continue;
      misses.push_back({row.text(0), row.text(1), row.integer(2), row.integer(3), row.integer(4)});
    }
    return misses;
  });
}

Job JobQueue::take(const Miss& miss) {
  return impl_->writing("take a miss", [&, &database = impl_->database] {
    Job job{.shape_key = miss.shape_key, .device_fingerprint = miss.device_fingerprint};
    {
      // It may have been tried before, when its device was lost.
      Query before = database.query(
          "SELECT attempts FROM jobs WHERE state = 'queued' AND campaign IS NULL AND shape_key = ? AND "
          "device_fingerprint = ?",
          job.shape_key, job.device_fingerprint);
      if (before.next()) job.attempts = before.integer(0);
    }
    database.run(
        "DELETE FROM jobs WHERE state = 'queued' AND campaign IS NULL AND shape_key = ? AND device_fingerprint = ?",
        job.shape_key, job.device_fingerprint);
    job.state = JobState::running;
    ++job.attempts;
    job.epoch = 1;
    database.run(
        "INSERT INTO jobs (shape_key, device_fingerprint, mode, state, attempts, epoch, worker, reason) "
        "VALUES (?, ?, ?, 'running', ?, 1, '', '')",
        job.shape_key, job.device_fingerprint, name(job.mode), job.attempts);
    job.id = database.last_id();
    return job;
  });
}

void JobQueue::put_back(const Job& job, std::string_view reason) {
  impl_->writing("put a job back", [&, &database = impl_->database] {
    database.run("UPDATE jobs SET state = 'queued', attempts = attempts - 1, reason = ? WHERE id = ? AND epoch = ?",
                 reason, job.id, job.epoch);
    return true;
  });
}

void JobQueue::finish(const Job& job, JobState state, std::string_view reason) {
  impl_->writing("end a job", [&, &database = impl_->database] {
    if (!job.campaign && state == JobState::done) {
      // Its rows are no longer needed.
      database.run("DELETE FROM jobs WHERE id = ? AND epoch = ?", job.id, job.epoch);
      database.run("DELETE FROM misses WHERE shape_key = ? AND device_fingerprint = ?", job.shape_key,
                   job.device_fingerprint);
      return true;
    }
    database.run("UPDATE jobs SET state = ?, reason = ? WHERE id = ? AND epoch = ?", name_of(state), reason, job.id,
                 job.epoch);
    if (job.campaign) impl_->end_if_over(*job.campaign);
    return true;
  });
}

}  // namespace tilewright
