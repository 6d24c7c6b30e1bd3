// SPDX-License-Identifier: Apache-2.0
#include "tests/service/program_service.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "tests/cli/program.hpp"
#include "tuner/process/process.hpp"

namespace tilewright::testing {

ProgramService::ProgramService(const std::filesystem::path& folder, const std::vector<std::string>& options)
    : folder_(folder) {
  std::vector<std::string> command{TILEWRIGHT_PROGRAM, "serve", "--port", "0"};
  command.insert(command.end(), options.begin(), options.end());
  const auto file = [&](const char* name) {
    return ::open((folder_ / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  };
  const Streams streams{::open("/dev/null", O_RDONLY | O_CLOEXEC), file("serve.out"), file("serve.err")};
  process_ = start_process(command, streams);
  for (const int each : {streams.input, streams.output, streams.error}) ::close(each);
  const std::string sign = "Serving http://127.0.0.1:";
  const bool serves = comes([&] { return read_file(folder_ / "serve.out").ends_with("\n"); });
  const std::string said = read_file(folder_ / "serve.out");
  EXPECT_TRUE(serves && said.starts_with(sign)) << said << log();
  if (said.starts_with(sign)) port_ = static_cast<std::uint16_t>(std::stoi(said.substr(sign.size())));
}

ProgramService::~ProgramService() { end(SIGINT); }

int ProgramService::end(int signal) {
  if (process_ == 0) return 0;
  ::kill(process_, signal);
  const int status = wait_for_process(std::exchange(process_, 0));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void ProgramService::fill_disk(std::size_t most_file_bytes) const {
  const rlim_t most = most_file_bytes == 0 ? RLIM_INFINITY : most_file_bytes;
  const rlimit limit{most, RLIM_INFINITY};
  ASSERT_EQ(::prlimit(process_, RLIMIT_FSIZE, &limit, nullptr), 0);
}

std::string ProgramService::log() const { return read_file(folder_ / "serve.err"); }

bool comes(const std::function<bool()>& what) {
  for (int i = 0; i < 1200; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

}  // namespace tilewright::testing
