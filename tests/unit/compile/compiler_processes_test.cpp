// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/compiler_processes.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <set>
#include <thread>

#include "cache/base/error.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/compile/nvrtc_search.hpp"

namespace tilewright {
namespace {

/// Settings for the worker process tests/unit/compile/compile_worker.cpp, whose compiler the source scripts.
CompilerProcesses::Settings scripted() { return {{TILEWRIGHT_TEST_COMPILE_WORKER}, "scripted 1"}; }

CompileRequest request_of(std::string source) {
  CompileRequest request;
  request.source = std::move(source);
  request.name = "softmax.cu";
  request.entries = {"softmax", "finish"};
  request.arch = "sm_90a";
  request.include_dirs = {"/kernels", "/with space"};
  request.options = {"--one", "--two"};
  return request;
}

TEST(CompilerProcesses, bring_back_all_of_a_result) {
  CompilerProcesses compiler(scripted());
  const CompileResult result = compiler.compile(request_of("echo"));
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.log, "softmax.cu sm_90a /kernels|/with space| --one|--two|");
  EXPECT_EQ(result.compiler, "scripted 1");
  EXPECT_EQ(result.milliseconds, 1.5);
  ASSERT_EQ(result.binary.size(), 1U << 20);
  EXPECT_EQ(result.binary.back(), std::byte{7});
  ASSERT_EQ(result.kernels.size(), 2U);
  EXPECT_EQ(result.kernels[1].entry, "finish");
  EXPECT_EQ(result.kernels[1].symbol, "_Z6finish");
  EXPECT_EQ(result.kernels[1].resources.registers, 41);
  EXPECT_EQ(result.kernels[1].resources.max_threads, 1024);
  EXPECT_EQ(compiler.version(), "scripted 1");
}

TEST(CompilerProcesses, bring_back_a_kernel_that_does_not_compile_as_one) {
  CompilerProcesses compiler(scripted());
  const CompileResult result = compiler.compile(request_of("refuse"));
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.log, "softmax.cu(3): error: refused");
}

TEST(CompilerProcesses, throw_what_the_workers_compiler_threw) {
  CompilerProcesses compiler(scripted());
  EXPECT_THROW(
      try { (void)compiler.compile(request_of("usage")); } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "no such architecture");
        throw;
      },
      UsageError);
  EXPECT_THROW(
      try { (void)compiler.compile(request_of("broken")); } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "headers are missing");
        EXPECT_EQ(dynamic_cast<const UsageError*>(&error), nullptr);
        throw;
      },
      Error);
  EXPECT_TRUE(compiler.compile(request_of("echo")).ok) << "the worker serves on";
}

TEST(CompilerProcesses, keep_a_worker_for_the_next_compile) {
  CompilerProcesses compiler(scripted());
  (void)compiler.compile(request_of("echo"));
  const auto first = compiler.workers();
  (void)compiler.compile(request_of("echo"));
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(compiler.workers(), first);
}

TEST(CompilerProcesses, compile_at_once_in_as_many_workers_as_threads_ask) {
  CompilerProcesses compiler(scripted());
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5; ++i) good += compiler.compile(request_of("nap")).ok ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(good, 20);
  const auto workers = compiler.workers();
  EXPECT_GE(workers.size(), 2U);
  EXPECT_LE(workers.size(), 4U);
}

TEST(CompilerProcesses, lose_one_kernel_with_a_worker_that_crashes) {
  CompilerProcesses compiler(scripted());
  const CompileResult result = compiler.compile(request_of("crash"));
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.log.find("error: the process that compiled softmax.cu ended with signal 6"), std::string::npos)
      << result.log;
  EXPECT_TRUE(compiler.workers().empty());
  EXPECT_TRUE(compiler.compile(request_of("echo")).ok);
}

TEST(CompilerProcesses, lose_one_kernel_with_a_worker_that_sends_what_is_no_result) {
  CompilerProcesses compiler(scripted());
  for (const char* source : {"garble", "strange"}) {
    const CompileResult result = compiler.compile(request_of(source));
    EXPECT_FALSE(result.ok);
    EXPECT_NE(result.log.find("error: compiling softmax.cu failed: its process sent an invalid message"),
              std::string::npos)
        << result.log;
    EXPECT_EQ(result.compiler, "scripted 1");
    EXPECT_TRUE(compiler.workers().empty());
    EXPECT_TRUE(compiler.compile(request_of("echo")).ok);
  }
}

TEST(CompilerProcesses, that_ended_while_they_had_nothing_to_do_cost_no_kernel_its_compile) {
  CompilerProcesses compiler(scripted());
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([&] { (void)compiler.compile(request_of("nap")); });
  }
  for (const pid_t worker : compiler.workers()) {
    ASSERT_EQ(kill(worker, SIGKILL), 0);
    siginfo_t ended{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(worker), &ended, WEXITED | WNOWAIT), 0);
  }
  const CompileResult result = compiler.compile(request_of("echo"));
  EXPECT_TRUE(result.ok) << result.log;
  EXPECT_EQ(compiler.workers().size(), 1U);
}

TEST(CompilerProcesses, lose_one_kernel_whose_compile_takes_all_memory) {
  CompilerProcesses compiler(scripted());
  const CompileResult result = compiler.compile(request_of("greed"));
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.log, "error: memory ran out");
  EXPECT_EQ(result.compiler, "scripted 1");
  EXPECT_TRUE(compiler.compile(request_of("echo")).ok);
}

TEST(CompilerProcesses, stop_a_compile_that_does_not_end) {
  auto settings = scripted();
  settings.limit = std::chrono::milliseconds(200);
  CompilerProcesses compiler(settings);
  const CompileResult result = compiler.compile(request_of("hang"));
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.log, "error: compiling softmax.cu did not end in 0.2 s, and was stopped");
  EXPECT_GE(result.milliseconds, 200);
  EXPECT_TRUE(compiler.workers().empty());
}

TEST(CompilerProcesses, end_with_their_parent) {
  pid_t worker = 0;
  {
    CompilerProcesses compiler(scripted());
    (void)compiler.compile(request_of("echo"));
    worker = compiler.workers().at(0);
    EXPECT_EQ(kill(worker, 0), 0);
  }
  EXPECT_EQ(kill(worker, 0), -1);
}

TEST(CompilerProcesses, say_which_worker_cannot_be_started) {
  CompilerProcesses compiler({{"/nowhere/worker"}, "none"});
  EXPECT_THROW(
      try { (void)compiler.compile(request_of("echo")); } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("/nowhere/worker"), std::string::npos) << error.what();
        throw;
      },
      Error);
}

TEST(CompilerProcesses, of_the_program_make_the_binaries_that_nvrtc_makes) {
  if (NvrtcLibrary::find(nvrtc_search_places()) == nullptr)
    GTEST_SKIP() << "NVRTC was not found: scripts/setup brings it";
  NvrtcCompiler here;
  CompilerProcesses there({{TILEWRIGHT_TEST_PROGRAM, "compile-worker"}, here.version()});
  CompileRequest request;
  request.source = R"cu(
namespace tilewright_generated { struct Config { static constexpr int factor = 3; }; }
template <class Config> __global__ void scale(float* x) { x[threadIdx.x] *= Config::factor; })cu";
  request.name = "scale.cu";
  request.entries = {"scale"};
  request.arch = "sm_90a";
  const CompileResult ours = here.compile(request);
  const CompileResult theirs = there.compile(request);
  ASSERT_TRUE(theirs.ok) << theirs.log;
  EXPECT_EQ(theirs.binary, ours.binary);
  EXPECT_EQ(theirs.kernels.at(0).symbol, ours.kernels.at(0).symbol);
  EXPECT_EQ(theirs.kernels.at(0).resources.registers, ours.kernels.at(0).resources.registers);
  request.arch = "sm_1";
  EXPECT_THROW((void)there.compile(request), UsageError);
}

}  // namespace
}  // namespace tilewright
