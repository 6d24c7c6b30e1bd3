// SPDX-License-Identifier: Apache-2.0
#include "cache/driver/profiler.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

namespace tilewright::testing {
namespace {

class ProfilerTest : public ::testing::Test {
 protected:
  ProfilerTest()
      : log_(std::filesystem::temp_directory_path() / ("tilewright-profiler-" + std::to_string(::getpid()))) {
    std::filesystem::remove(log_);
  }
  ~ProfilerTest() override { std::filesystem::remove(log_); }

  /// Runs `body` in its own process, since a process attaches a profiler once; returns the exit status.
  [[nodiscard]] int run(const char* injection, const std::function<int()>& body) const {
    const pid_t child = ::fork();
    if (child == 0) {
      // NOLINTBEGIN(concurrency-mt-unsafe): the child has one thread.
      ::setenv("FAKE_PROFILER_LOG", log_.c_str(), 1);
      injection == nullptr ? ::unsetenv("NVTX_INJECTION64_PATH") : ::setenv("NVTX_INJECTION64_PATH", injection, 1);
      // NOLINTEND(concurrency-mt-unsafe)
      ::_exit(body());
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  [[nodiscard]] std::string log() const {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path log_;
};

TEST_F(ProfilerTest, is_told_of_nested_ranges_by_their_names) {
  const auto body = [] {
    const ProfilerRange outer([] { return std::string("verify softmax"); });
    const ProfilerRange inner([] { return std::string("launch"); });
    return Profiler::attached() != nullptr ? 0 : 1;
  };
  EXPECT_EQ(run(TILEWRIGHT_FAKE_PROFILER, body), 0);
  EXPECT_EQ(log(), "push verify softmax\npush launch\npop\npop\n");
}

TEST_F(ProfilerTest, no_name_is_made_where_none_is_attached) {
  const auto body = [] {
    bool asked = false;
    {
      const ProfilerRange range([&] {
        asked = true;
        return std::string();
      });
    }
    return asked || Profiler::attached() != nullptr ? 1 : 0;
  };
  EXPECT_EQ(run(nullptr, body), 0);
  EXPECT_EQ(run("", body), 0);
  EXPECT_EQ(run("/nowhere/libprofiler.so", body), 0);
  // A library that is no profiler.
  EXPECT_EQ(run("libm.so.6", body), 0);
  EXPECT_EQ(log(), "");
}

}  // namespace
}  // namespace tilewright::testing
