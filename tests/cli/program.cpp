// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

namespace tilewright::testing {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kNobody = 65534;

/// Runs in the child between fork and exec: makes only system calls.
[[noreturn]] void become(const std::vector<std::string>& command, const RunOptions& options, int out, int err) {
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  if (!options.standard_output.empty()) {
    const int file = open(options.standard_output.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(file, STDOUT_FILENO);
  }
  for (const auto& [name, value] : options.environment) {
    value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
  }
  if (options.most_file_bytes != 0) {
    const rlimit limit{options.most_file_bytes, options.most_file_bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (options.as_nobody && (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(126);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(words.front(), words.data());
  _exit(127);
}

std::chrono::duration<double> to_seconds(const timeval& time) {
  return std::chrono::duration<double>(static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec));
}

/// Sends Ctrl-C as an Interrupt says.
class Interrupter {
 public:
  Interrupter(pid_t child, const std::optional<Interrupt>& interrupt) : child_(child), interrupt_(interrupt) {}
  void look_at(const std::string& text) {
    if (!interrupt_ || thread_.joinable() || text.find(interrupt_->sign) == std::string::npos) return;
    thread_ = std::thread([this] {
      std::this_thread::sleep_for(interrupt_->later);
      sent_ = std::chrono::steady_clock::now();
      kill(child_, SIGINT);
    });
  }
  /// The time since Ctrl-C. Call it after the child has ended and before it is reaped.
  std::chrono::duration<double> since() {
    if (!thread_.joinable()) return {};
    thread_.join();
    return std::chrono::steady_clock::now() - sent_;
  }

 private:
  pid_t child_;
  std::optional<Interrupt> interrupt_;
  std::thread thread_;
  std::chrono::steady_clock::time_point sent_;
};

/// Reads both pipes to their ends.
void collect(int out, int err, Outcome& outcome, Interrupter& interrupter) {
  std::array<pollfd, 2> sources{{{out, POLLIN, 0}, {err, POLLIN, 0}}};
  std::array<std::string*, 2> texts{&outcome.out, &outcome.err};
  std::array<char, 4096> buffer{};
  for (int open_ends = 2; open_ends > 0;) {
    poll(sources.data(), sources.size(), -1);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (sources[i].fd < 0 || sources[i].revents == 0) continue;
      const ssize_t count = read(sources[i].fd, buffer.data(), buffer.size());
      if (count > 0) {
        texts[i]->append(buffer.data(), static_cast<std::size_t>(count));
        interrupter.look_at(*texts[i]);
      } else {
        sources[i].fd = -1;
        --open_ends;
      }
    }
  }
}

Outcome run_command(const std::vector<std::string>& command, const RunOptions& options) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) return {};
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) become(command, options, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  Outcome outcome;
  Interrupter interrupter(child, options.interrupt);
  collect(out[0], err[0], outcome, interrupter);
  close(out[0]);
  close(err[0]);
  siginfo_t ended{};
  waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  outcome.after_interrupt = interrupter.since();
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  outcome.cpu_seconds = to_seconds(used.ru_utime) + to_seconds(used.ru_stime);
  outcome.seconds = std::chrono::steady_clock::now() - start;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

/// Holds a lock file while it lives, since tests run in parallel.
class FileLock {
 public:
  explicit FileLock(const fs::path& path) : descriptor_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    flock(descriptor_, LOCK_EX);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() { close(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

CliTest::CliTest() {
  // The user nobody must be able to use the folder, but not to replace its owner's cache.
  fs::permissions(folder, fs::perms::all | fs::perms::sticky_bit);
}

Outcome CliTest::run(const std::vector<std::string>& arguments, const RunOptions& options) const {
  std::vector<std::string> command{TILEWRIGHT_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  RunOptions all = options;
  const std::map<std::string, std::string> own{
      {"XDG_CACHE_HOME", folder.string()}, {"TILEWRIGHT_CACHE", ""}, {"COLUMNS", "200"}};
  all.environment.insert(own.begin(), own.end());
  return run_command(command, all);
}

Outcome CliTest::run_on_ops(std::vector<std::string> arguments, const RunOptions& options) const {
  for (const char* word : {"--ops", TILEWRIGHT_TEST_OPS, "--cache"}) arguments.emplace_back(word);
  arguments.push_back(cache());
  return run(arguments, options);
}

nlohmann::json CliTest::json_of(std::vector<std::string> arguments, int expected_code) const {
  arguments.insert(arguments.end(), {"--format", "json"});
  const Outcome outcome = run_on_ops(std::move(arguments));
  EXPECT_EQ(outcome.code, expected_code) << outcome.err << outcome.out;
  return nlohmann::json::parse(outcome.out, nullptr, false);
}

void CliTest::use_swept_cache() const {
  const fs::path shared = fs::path(TILEWRIGHT_TEST_STATE) / "swept.db";
  fs::create_directories(shared.parent_path());
  const FileLock lock(shared.parent_path() / "lock");
  // Reuses trials and binaries that still fit and makes the others, so that an older cache is brought up to date.
  std::vector<std::string> words{TILEWRIGHT_PROGRAM};
  words.insert(words.end(), kSweep.begin(), kSweep.end());
  for (const std::string& word :
       {std::string("--ops"), std::string(TILEWRIGHT_TEST_OPS), std::string("--cache"), shared.string()}) {
    words.push_back(word);
  }
  const Outcome outcome = run_command(words, {});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  fs::copy_file(shared, cache(), fs::copy_options::overwrite_existing);
  const fs::path log = shared.string() + "-wal";
  if (fs::exists(log)) fs::copy_file(log, cache() + "-wal", fs::copy_options::overwrite_existing);
}

std::string read_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::chrono::duration<double> under_load(std::chrono::duration<double> idle) {
  double load = 0;
  double other = 0;
  double running = 0;
  char slash = 0;
  // "0.20 0.18 0.12 1/80 11206": means over 1, 5 and 15 minutes, then the number of running processes.
  std::ifstream("/proc/loadavg") >> load >> other >> other >> running >> slash;
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  return idle * std::max({1.0, load / cores, running / cores});
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool nobody_can_run_the_program() {
  if (geteuid() != 0) return true;
  return run_command({TILEWRIGHT_PROGRAM, "--version"}, {.environment = {}, .as_nobody = true}).code == 0;
}

}  // namespace tilewright::testing
