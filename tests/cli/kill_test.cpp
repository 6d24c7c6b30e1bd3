// SPDX-License-Identifier: Apache-2.0
// kill -9, many times and at any moment, of any process of a sweep, of a campaign, or of two sweeps and an import on
// one cache: stored data stay, nothing is stored twice, and the next run continues from there.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "cache/store/store.hpp"
#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"
#include "tests/other_program.hpp"

namespace tilewright::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// The parent of each process.
std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> result;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    // The process's name may contain brackets; the text after the last one does not.
    const std::size_t end = text.rfind(')');
    if (end != std::string::npos) result[std::stoi(name)] = std::atoi(text.c_str() + end + 4);
  }
  return result;
}

/// A process and its descendants, parents first.
std::vector<pid_t> family(pid_t root) {
  const std::map<pid_t, pid_t> all = parents();
  std::vector<pid_t> members{root};
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const auto& [process, parent] : all) {
      if (parent == members[i]) members.push_back(process);
    }
  }
  return members;
}

/// False for ended processes, including zombies.
bool lives(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && text.compare(end, 3, ") Z") != 0;
}

bool is_worker(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/cmdline");
  const std::string words{std::istreambuf_iterator<char>(file), {}};
  return words.find("-worker") != std::string::npos;
}

class Kills : public CliTest {
 protected:
  using Words = std::vector<std::string>;

  /// A sweep of 20 configs.
  [[nodiscard]] Words sweep() const {
    return {"sweep",   "shift",    "--ops", TILEWRIGHT_TEST_OPS, "--cache", cache(),    "--no-ceilings",
            "--quiet", "--device", "cpu",   "--budget-ms",       "20",      "--shapes", "rows=1,2,3,4 cols=33"};
  }
  /// A campaign of the same 20 configs.
  [[nodiscard]] Words campaign() const {
    const fs::path file = folder / "night.toml";
    std::ofstream(file) << "[campaign]\ndevices = ['cpu']\n"
                           "[[sweep]]\nop = 'shift'\ndtype = 'f32'\nshapes = ['rows=1,2 cols=33']\n"
                           "[[sweep]]\nop = 'shift'\ndtype = 'f32'\nshapes = ['rows=3,4 cols=33']\n";
    return {"sweep",         "--campaign", file.string(), "--ops", TILEWRIGHT_TEST_OPS, "--cache", cache(),
            "--no-ceilings", "--quiet",    "--budget-ms", "20"};
  }
  /// An import of six problems of another op.
  [[nodiscard]] Words import() const {
    const std::string file = (folder / "other.db").string();
    fill_demo_cache(file, 6);
    return {"import", file, "--cache", cache()};
  }

  static pid_t start(Words words) {
    words.insert(words.begin(), TILEWRIGHT_PROGRAM);
    const pid_t child = ::fork();
    if (child != 0) return child;
    const int nothing = ::open("/dev/null", O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, stream);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments.front(), arguments.data());
    ::_exit(127);
  }

  /// Waits for the process; returns the exit code, or 128 + signal.
  static int end(pid_t process) {
    int status = 0;
    ::waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  [[nodiscard]] std::set<std::int64_t> trials() const {
    std::set<std::int64_t> ids;
    if (!fs::exists(cache())) return ids;
    SQLite::Database database(cache(), SQLite::OPEN_READONLY);
    SQLite::Statement tables(database,
                             "SELECT COUNT(*) FROM sqlite_master WHERE name = 'trials' AND sql LIKE '%began_us%'");
    tables.executeStep();
    if (tables.getColumn(0).getInt() == 0) return ids;
    SQLite::Statement query(database, "SELECT id FROM trials");
    while (query.executeStep()) ids.insert(query.getColumn(0).getInt64());
    return ids;
  }

  /// The number of configs tried by sweeps, over all problems. Trials of finals do not count: they depend on the times.
  [[nodiscard]] int tried() const {
    SQLite::Database database(cache(), SQLite::OPEN_READONLY);
    SQLite::Statement query(database,
                            "SELECT COUNT(*) FROM (SELECT DISTINCT problem, config FROM trials "
                            "JOIN problems ON problems.id = problem JOIN specs ON specs.id = spec WHERE op = 'shift')");
    query.executeStep();
    return query.getColumn(0).getInt();
  }

  /// Expects the invariants of the cache.
  void require_whole() const {
    if (!fs::exists(cache())) return;
    OtherProgram database(cache());
    SQLite::Statement check(database, "PRAGMA integrity_check");
    check.executeStep();
    EXPECT_EQ(check.getColumn(0).getString(), "ok");
    SQLite::Statement tables(database,
                             "SELECT COUNT(*) FROM sqlite_master WHERE name = 'trials' AND sql LIKE '%began_us%'");
    tables.executeStep();
    if (tables.getColumn(0).getInt() == 0) return;
    // Configs of one final may meet again in a later one, if its times make others lead: those began at other moments.
    SQLite::Statement twice(
        database,
        "SELECT group_concat(id || ' ' || look || ' ' || status || ' of sweep ' || sweep, '; ') FROM "
        "trials GROUP BY problem, config, look, CASE look WHEN 'final' THEN began_us END "
        "HAVING COUNT(*) > 1");
    while (twice.executeStep()) ADD_FAILURE() << "trials stored twice: " << twice.getColumn(0).getString();
    SQLite::Statement lost(database, "SELECT COUNT(*) FROM trials WHERE status IN ('timed_out', 'exceeds_limits')");
    lost.executeStep();
    EXPECT_EQ(lost.getColumn(0).getInt(), 0) << "a kill was taken for a config's fault";
  }

  /// Runs the commands together `kills` times; each time kills one of them or of their workers.
  void kill_often(const std::vector<Words>& commands, int kills) const {
    if (const char* wanted = std::getenv("TILEWRIGHT_TEST_KILLS")) kills = std::atoi(wanted);
    std::mt19937 random(static_cast<unsigned>(kills));
    const auto one_of = [&](const std::vector<pid_t>& all) { return all[random() % all.size()]; };
    int finished = 0;
    std::set<std::int64_t> before;
    for (int i = 0; i < kills; ++i) {
      std::vector<pid_t> programs;
      for (const Words& command : commands) programs.push_back(start(command));
      std::this_thread::sleep_for(milliseconds(random() % 900));
      std::vector<pid_t> members;
      for (const pid_t program : programs) std::ranges::copy(family(program), std::back_inserter(members));
      std::vector<pid_t> workers;
      std::ranges::copy_if(members, std::back_inserter(workers), is_worker);
      // In half of the kills the victim is a program itself.
      const pid_t victim = one_of(random() % 2 == 0 ? programs : members);
      ::kill(victim, SIGKILL);
      bool all_done = true;
      for (const pid_t program : programs) {
        const int code = end(program);
        all_done = all_done && code == 0;
        EXPECT_TRUE(code == 0 || program == victim) << code << ": another's end is not the program's";
      }
      // Their workers end soon after them; a running compilation may delay that.
      for (int wait = 0; wait < 3000 && std::ranges::any_of(workers, lives); ++wait) {
        std::this_thread::sleep_for(milliseconds(10));
      }
      EXPECT_FALSE(std::ranges::any_of(workers, lives));
      require_whole();
      const std::set<std::int64_t> now = trials();
      for (const std::int64_t id : before) EXPECT_EQ(now.count(id), 1U) << "trial " << id << " was lost";
      before = now;
      if (HasFailure()) return;
      if (!all_done) continue;
      EXPECT_EQ(tried(), 20);
      ++finished;
      for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(cache() + suffix);
      before.clear();
    }
    for (const Words& command : commands) EXPECT_EQ(end(start(command)), 0);
    require_whole();
    EXPECT_EQ(tried(), 20);
    Store(cache()).check();
    fmt::print("{} kills, {} times all was done\n", kills, finished);
  }
};

TEST_F(Kills, of_any_process_at_any_moment_lose_at_most_the_trial_in_flight) { kill_often({sweep()}, 10); }

TEST_F(Kills, of_a_campaign_let_the_next_run_go_on) { kill_often({campaign()}, 6); }

TEST_F(Kills, among_two_sweeps_and_an_import_on_one_cache_lose_no_more) { kill_often({sweep(), sweep(), import()}, 4); }

}  // namespace
}  // namespace tilewright::testing
