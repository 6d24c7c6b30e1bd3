// SPDX-License-Identifier: Apache-2.0
#include "tuner/process/process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>

#include "cache/base/error.hpp"
#include "cache/base/sanitizers.hpp"

namespace tilewright {
namespace {

/// Of an exit with code 255: the status is lost, such as to another waitpid() or an ignored SIGCHLD.
constexpr int kUnknownStatus = 255 << 8;

/// This process's environment with LC_ALL=C and without LANGUAGE, for English messages.
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

/// The command behind a shell that sets its own limits and then executes it, so that all its children inherit them.
std::vector<std::string> bounded(const std::vector<std::string>& command, const ProcessLimits& limits) {
  std::string bounds;
  // A sanitizer's shadow memory needs far more addresses.
  if (limits.memory_bytes > 0 && !kAddressSanitizer && !kThreadSanitizer)
    bounds += fmt::format("ulimit -v {}; ", limits.memory_bytes / 1024);
  if (limits.processor.count() > 0) bounds += fmt::format("ulimit -t {}; ", limits.processor.count());
  if (bounds.empty()) return command;
  std::vector<std::string> whole{"/bin/sh", "-c", bounds + "exec \"$@\"", "sh"};
  whole.insert(whole.end(), command.begin(), command.end());
  return whole;
}

/// This thread's signal mask with SIGTSTP blocked. A new process belongs to this process's group until it has its own.
/// If Ctrl-Z stopped it before exec, posix_spawn would not return, this process could not stop either, and the user's
/// shell would hang.
sigset_t mask_of_children() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  sigaddset(&mask, SIGTSTP);
  return mask;
}

}  // namespace

// Not /proc/self/exe: in the shell of bounded(), that is the shell.
std::string this_program() { return fmt::format("/proc/{}/exe", ::getpid()); }

pid_t start_process(const std::vector<std::string>& asked, const Streams& streams, const std::filesystem::path& folder,
                    const ProcessLimits& limits) {
  const std::vector<std::string> command = bounded(asked, limits);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment = english_environment();

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_adddup2(&actions, streams.input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, streams.output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, streams.error, STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  const sigset_t mask = mask_of_children();
  posix_spawnattr_setsigmask(&attributes, &mask);
  pid_t process = 0;
  const int error =
      posix_spawnp(&process, command.front().c_str(), &actions, &attributes, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    throw Error(fmt::format("Running {} failed at its start: {}", fmt::join(asked, " "), std::strerror(error)));
  }
  return process;
}

int wait_for_process(pid_t process) noexcept {
  for (int status = 0;;) {
    if (waitpid(process, &status, 0) >= 0) return status;
    if (errno != EINTR) return kUnknownStatus;
  }
}

std::optional<int> wait_for_process(pid_t process, std::chrono::milliseconds patience) noexcept {
  constexpr std::chrono::milliseconds kPause{2};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (int status = 0;;) {
    const pid_t ended = waitpid(process, &status, WNOHANG);
    if (ended > 0) return status;
    if (ended < 0 && errno != EINTR) return kUnknownStatus;
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace tilewright
