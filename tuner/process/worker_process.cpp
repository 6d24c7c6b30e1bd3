// SPDX-License-Identifier: Apache-2.0
#include "tuner/process/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

// A killed process ends at once, unless the driver still runs its kernels.
constexpr std::chrono::seconds kStopPatience{20};

std::array<int, 2> make_sockets(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Error(fmt::format("Running {} failed at its socket: {}", command.front(), std::strerror(errno)));
  }
  return ends;
}

}  // namespace

WorkerProcess::WorkerProcess(const std::vector<std::string>& command, const ProcessLimits& limits, Output output)
    : WorkerProcess(command, make_sockets(command), limits, output) {}

WorkerProcess::WorkerProcess(const std::vector<std::string>& command, std::array<int, 2> sockets,
                             const ProcessLimits& limits, Output output)
    : channel_(std::in_place, sockets[0]) {
  const Channel theirs(sockets[1]);
  const int printed = output == Output::standard_output ? STDOUT_FILENO : STDERR_FILENO;
  process_ = start_process(command, {sockets[1], printed, STDERR_FILENO}, {}, limits);
}

WorkerProcess::~WorkerProcess() {
  channel_.reset();
  if (process_ <= 0) return;
  constexpr std::chrono::seconds kGrace{1};
  if (wait_for_process(process_, kGrace) || killed_) return;
  kill();
  (void)wait_for_process(process_, kGrace);
}

void WorkerProcess::kill() noexcept {
  if (process_ <= 0) return;
  ::kill(-process_, SIGKILL);
  killed_ = true;
}

std::string WorkerProcess::end(const std::function<bool()>& interrupted) {
  constexpr std::chrono::milliseconds kSlice{50};
  std::optional<int> status = wait_for_process(process_, kSlice);
  for (auto waited = kSlice; !status && waited < kStopPatience && !(interrupted && interrupted()); waited += kSlice) {
    status = wait_for_process(process_, kSlice);
  }
  if (!status) return "no end yet";
  process_ = 0;
  if (WIFSIGNALED(*status)) return fmt::format("signal {} ({})", WTERMSIG(*status), strsignal(WTERMSIG(*status)));
  return fmt::format("exit code {}", WEXITSTATUS(*status));
}

void end_with(int socket) {
  // A duplicate: the worker may close its own descriptor, which must not look like the other process's end.
  const int watched = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (watched < 0) throw Error(fmt::format("Watching the parent's socket failed: {}", std::strerror(errno)));
  std::thread([watched] {
    pollfd closed{watched, POLLRDHUP, 0};
    while (::poll(&closed, 1, -1) <= 0) {
    }
    // start_process made the group for this process; another parent may not have.
    if (::getpgrp() == ::getpid()) ::kill(0, SIGKILL);
    ::_exit(1);
  }).detach();
}

}  // namespace tilewright
