// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/subprocess.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "cache/error.hpp"

namespace tilewright {
namespace {

[[noreturn]] void fail(const std::vector<std::string>& command, const char* step, int error) {
  throw Error(fmt::format("Running {} failed at {}: {}", fmt::join(command, " "), step, std::strerror(error)));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { close(); }
  [[nodiscard]] int get() const noexcept { return number_; }
  void close() noexcept {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

/// The child's environment: ours, but with messages in English.
std::vector<char*> english_environment() {
  static char locale[] = "LC_ALL=C";
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with("LC_ALL=") && !text.starts_with("LANGUAGE=")) variables.push_back(*variable);
  }
  variables.push_back(locale);
  variables.push_back(nullptr);
  return variables;
}

/// Starts the program in a process group of its own, so that the limit can end its children too.
pid_t start(const std::vector<std::string>& command, const std::filesystem::path& folder, int output) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment = english_environment();

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, command.front().c_str(), &actions, &attributes, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) fail(command, "its start", error);
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

SubprocessResult run_subprocess(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                                const std::filesystem::path& folder) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail(command, "making a pipe", errno);
  FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  const pid_t child = start(command, folder, write_end.get());
  write_end.close();

  SubprocessResult result;
  std::array<char, 8192> piece;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd readable{read_end.get(), POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&readable, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      kill(-child, SIGKILL);
      result.timed_out = true;
      break;
    }
    const ssize_t bytes = read(read_end.get(), piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    result.output.append(piece.data(), static_cast<std::size_t>(bytes));
  }
  result.exit_code = wait_for(child);
  return result;
}

}  // namespace tilewright
