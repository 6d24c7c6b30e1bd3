// SPDX-License-Identifier: Apache-2.0
// A disk that fails at the n-th changing call, or fills up there, in any operation: no stored data are lost, the error
// says what failed and what to do, and the same command, repeated, succeeds.
#include "tests/faults/failing_disk.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "cache/store/bundle/bundle.hpp"
#include "cache/store/store.hpp"
#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

/// The state shared by the test, a process and its children.
class Disk {
 public:
  explicit Disk(const fs::path& state) : path_(state) {
    const int file = ::open(state.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (::ftruncate(file, sizeof(FailingDisk)) != 0) throw std::runtime_error("no room for the state of a disk");
    state_ =
        static_cast<FailingDisk*>(::mmap(nullptr, sizeof(FailingDisk), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    ::close(file);
  }
  ~Disk() { ::munmap(state_, sizeof(FailingDisk)); }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  FailingDisk* operator->() const { return state_; }
  [[nodiscard]] std::map<std::string, std::string> environment() const {
    return {{"LD_PRELOAD", TILEWRIGHT_FAILING_DISK_LIBRARY}, {kFailingDisk, path_.string()}};
  }

 private:
  fs::path path_;
  FailingDisk* state_;
};

class OnAFailingDisk : public CliTest {
 protected:
  OnAFailingDisk() : disk_(folder / "state") { std::strncpy(disk_->folder, disk().c_str(), sizeof disk_->folder - 1); }

  /// A command to try in the disk's folder. Checks get that folder or a copy.
  struct Work {
    std::vector<std::string> words;
    /// Puts the initial files there.
    std::function<void()> prepare;
    std::function<void(const fs::path&)> check_failed;
    /// Checks the result of success, at the first or second attempt.
    std::function<void(const fs::path&)> check_done;
    std::map<std::string, std::string> environment = {};
  };
  static constexpr int kAll = 1'000'000;

  [[nodiscard]] fs::path disk() const { return folder / "disk"; }
  [[nodiscard]] std::string on_disk(const char* name) const { return (disk() / name).string(); }
  [[nodiscard]] std::string beside(const char* name) const { return (folder / name).string(); }

  /// Does the work on a disk that fails at about `most` calls, spread over all.
  void walk(const Work& work, int most) const {
    const Outcome undisturbed = run_failing(work, 0, false);
    ASSERT_EQ(undisturbed.code, 0) << undisturbed.err;
    work.check_done(disk());
    const int calls = disk_->calls;
    ASSERT_GT(calls, 3) << "the disk is not in the program's way";
    int failed = 0;
    bool is_full = false;
    for (int call = 1; call <= calls; call += std::max(1, calls / most)) {
      // If all calls are tried, each fails both ways.
      for (int turn = 0; turn < (most == kAll ? 2 : 1); ++turn) {
        is_full = !is_full;
        SCOPED_TRACE(fmt::format("{} call {} of {}", is_full ? "full from" : "broken at", call, calls));
        failed += fail(work, call, is_full) ? 1 : 0;
      }
    }
    EXPECT_GT(failed, 0);
    fmt::print("{} calls, {} of the failures ended the program\n", calls, failed);
  }

  static std::set<std::int64_t> trials(const fs::path& cache) {
    std::set<std::int64_t> ids;
    if (!fs::exists(cache) || fs::file_size(cache) == 0) return ids;
    SQLite::Database database(cache.string(), SQLite::OPEN_READWRITE);
    SQLite::Statement query(database, "SELECT id FROM trials");
    while (query.executeStep()) ids.insert(query.getColumn(0).getInt64());
    return ids;
  }
  static std::int64_t winners(const fs::path& cache) {
    const Store store(cache, {.access = StoreAccess::read});
    store.check();
    return store.counts().winners;
  }
  /// The status of each config of a problem.
  static std::map<std::string, std::string> statuses(const fs::path& cache, const std::string& dims) {
    SQLite::Database database(cache.string(), SQLite::OPEN_READWRITE);
    SQLite::Statement query(database,
                            "SELECT c.text, t.status FROM trials t JOIN configs c ON c.id = t.config "
                            "JOIN problems p ON p.id = t.problem WHERE p.dims = ? ORDER BY t.id");
    query.bind(1, dims);
    std::map<std::string, std::string> found;
    while (query.executeStep()) found[query.getColumn(0)] = query.getColumn(1).getString();
    return found;
  }

  /// Imports six problems into a cache that has three of them.
  Work import() const {
    fill_demo_cache(beside("six.db"), 6);
    fill_demo_cache(beside("three.db"), 3);
    return {.words = {"import", beside("six.db"), "--cache", on_disk("cache.db")},
            .prepare = [this] { fs::copy_file(beside("three.db"), on_disk("cache.db")); },
            .check_failed = [](const fs::path& at) { EXPECT_THAT(winners(at / "cache.db"), AnyOf(6, 12)); },
            .check_done = [](const fs::path& at) { EXPECT_EQ(winners(at / "cache.db"), 12); }};
  }

  Work export_of_winners() const {
    fill_demo_cache(beside("six.db"), 6);
    fill_demo_cache(beside("three.db"), 3);
    return {.words = {"export", "--force", "-o", on_disk("winners.db"), "--cache", on_disk("cache.db")},
            .prepare =
                [this] {
                  fs::copy_file(beside("six.db"), on_disk("cache.db"));
                  fs::copy_file(beside("three.db"), on_disk("winners.db"));
                },
            .check_failed = [](const fs::path& at) { EXPECT_THAT(winners(at / "winners.db"), AnyOf(6, 12)); },
            .check_done = [](const fs::path& at) { EXPECT_EQ(winners(at / "winners.db"), 12); }};
  }

  Work export_of_a_bundle() const {
    fill_demo_cache(beside("six.db"), 6);
    const auto check = [](const fs::path& at) {
      const Bundle bundle(at / "winners.bundle");
      bundle.check();
      EXPECT_EQ(bundle.ops().size(), 1U);
    };
    return {.words = {"export", "--bundle", on_disk("winners.bundle"), "--cache", on_disk("cache.db")},
            .prepare = [this] { fs::copy_file(beside("six.db"), on_disk("cache.db")); },
            .check_failed =
                [=](const fs::path& at) {
                  if (fs::exists(at / "winners.bundle")) check(at);
                },
            .check_done = check};
  }

  /// Sweeps one more problem of an op whose binaries the cache has.
  Work sweep() const {
    use_swept_cache();
    const std::map<std::string, std::string> expected = statuses(cache(), "rows=2,cols=33");
    return {
        .words = {"sweep", "shift", "--ops", TILEWRIGHT_TEST_OPS, "--device", "cpu", "--budget-ms", "1",
                  "--no-ceilings", "--shapes", "rows=3 cols=33", "--cache", on_disk("cache.db")},
        .prepare =
            [this] {
              for (const char* part : {"", "-wal"}) {
                if (fs::exists(cache() + part)) fs::copy_file(cache() + part, on_disk("cache.db") + part);
              }
            },
        .check_failed =
            [=](const fs::path& at) {
              Store(at / "cache.db", {.access = StoreAccess::read}).check();
              for (const auto& [config, status] : statuses(at / "cache.db", "rows=3,cols=33")) {
                EXPECT_EQ(status, expected.at(config)) << config << ": the disk's fault is no config's";
              }
            },
        .check_done = [=](const fs::path& at) { EXPECT_EQ(statuses(at / "cache.db", "rows=3,cols=33"), expected); }};
  }

  /// Sweeps with only temporary files of compilation on the disk; the cache is elsewhere.
  Work sweep_with_temporary_files() const {
    const std::string config = "rowwise{variant=0,width=32}";
    const auto check = [=, this](const fs::path&) {
      SQLite::Database database(cache(), SQLite::OPEN_READWRITE);
      EXPECT_EQ(database.execAndGet("SELECT count(*) FROM builds WHERE NOT ok").getInt(), 0) << "the disk's fault";
      EXPECT_EQ(database.execAndGet("SELECT count(*) FROM trials WHERE status <> 'ok'").getInt(), 0);
    };
    return {.words = {"sweep", "shift", "--ops", TILEWRIGHT_TEST_OPS, "--device", "cpu", "--budget-ms", "1",
                      "--no-ceilings", "--config", config, "--shapes", "rows=3 cols=33", "--cache", cache()},
            .prepare = [this] { fs::remove(cache()); },
            .check_failed = check,
            .check_done =
                [=, this](const fs::path& at) {
                  check(at);
                  EXPECT_EQ(statuses(cache(), "rows=3,cols=33"), (std::map<std::string, std::string>{{config, "ok"}}));
                },
            .environment = {{"TMPDIR", disk().string()}}};
  }

 private:
  Outcome run_failing(const Work& work, int call, bool is_full) const {
    fs::remove_all(disk());
    fs::create_directory(disk());
    work.prepare();
    return run_on(work, call, is_full);
  }
  Outcome run_on(const Work& work, int call, bool is_full) const {
    disk_->calls = 0;
    disk_->failing = call;
    disk_->for_good = is_full;
    disk_->error = is_full ? ENOSPC : EIO;
    RunOptions options{.environment = disk_.environment()};
    options.environment.insert(work.environment.begin(), work.environment.end());
    return run(work.words, options);
  }

  /// Returns whether the program ended with an error.
  bool fail(const Work& work, int call, bool is_full) const {
    const Outcome outcome = run_failing(work, call, is_full);
    EXPECT_THAT(outcome.code, AnyOf(0, 1)) << outcome.err;
    if (outcome.code == 0) {
      work.check_done(disk());
      return false;
    }
    EXPECT_THAT(outcome.err, HasSubstr(disk().string())) << "of which file or folder";
    EXPECT_THAT(outcome.err,
                MatchesRegex("(.|\n)*(disk is full|No space left|by the system|cannot be opened|output error)(.|\n)*"));
    EXPECT_THAT(outcome.err, MatchesRegex("(.|\n)*(df -h|ls -la|TMPDIR|Check the folder)(.|\n)*")) << "what to type";
    EXPECT_THAT(outcome.err, Not(HasSubstr("damaged")));
    // Checks a copy, so that the next run finds the files as the failure left them.
    const fs::path copy = beside("copy");
    fs::remove_all(copy);
    fs::copy(disk(), copy);
    const std::set<std::int64_t> before = trials(copy / "cache.db");
    work.check_failed(copy);
    const Outcome again = run_on(work, 0, false);
    EXPECT_EQ(again.code, 0) << again.err << "\nafter: " << outcome.err;
    work.check_done(disk());
    const std::set<std::int64_t> after = trials(disk() / "cache.db");
    EXPECT_TRUE(std::ranges::includes(after, before)) << "a trial was lost";
    return true;
  }

  Disk disk_;
};

TEST_F(OnAFailingDisk, some_failures_of_an_import_lose_nothing) { walk(import(), 40); }
TEST_F(OnAFailingDisk, every_failure_of_an_import_loses_nothing) { walk(import(), kAll); }
TEST_F(OnAFailingDisk, some_failures_of_an_export_lose_nothing) { walk(export_of_winners(), 40); }
TEST_F(OnAFailingDisk, every_failure_of_an_export_loses_nothing) { walk(export_of_winners(), kAll); }
TEST_F(OnAFailingDisk, all_failures_of_an_exported_bundle_lose_nothing) { walk(export_of_a_bundle(), kAll); }
TEST_F(OnAFailingDisk, some_failures_of_a_sweep_lose_nothing) { walk(sweep(), 20); }
TEST_F(OnAFailingDisk, every_failure_of_a_sweep_loses_nothing) { walk(sweep(), kAll); }
TEST_F(OnAFailingDisk, all_failures_of_what_is_compiled_are_no_configs_fault) {
  walk(sweep_with_temporary_files(), kAll);
}

}  // namespace
}  // namespace tilewright::testing
