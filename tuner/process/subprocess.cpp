// SPDX-License-Identifier: Apache-2.0
#include "tuner/process/subprocess.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "cache/base/descriptor.hpp"
#include "cache/base/error.hpp"

namespace tilewright {
namespace {

[[noreturn]] void fail(const std::vector<std::string>& command, const char* step, int error) {
  throw Error(fmt::format("Running {} failed at {}: {}", fmt::join(command, " "), step, std::strerror(error)));
}

// The interval at which `interrupted` is asked.
constexpr std::chrono::milliseconds kPollPatience{50};

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

}  // namespace

SubprocessResult run_subprocess(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                                const std::filesystem::path& folder, const ProcessLimits& limits,
                                const std::function<bool()>& interrupted) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail(command, "making a pipe", errno);
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing) fail(command, "opening /dev/null", errno);
  const pid_t child = start_process(command, {nothing.get(), write_end.get(), write_end.get()}, folder, limits);
  write_end = Descriptor();

  SubprocessResult result;
  std::array<char, 8192> piece;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const bool stop = left.count() <= 0 || (interrupted && interrupted());
    const auto patience = interrupted ? std::min(left, kPollPatience) : left;
    pollfd readable{read_end.get(), POLLIN, 0};
    const int ready = stop ? 0 : poll(&readable, 1, static_cast<int>(patience.count()));
    if (!stop && (ready == 0 || (ready < 0 && errno == EINTR))) continue;
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
  result.exit_code = exit_code_of(wait_for_process(child));
  return result;
}

}  // namespace tilewright
