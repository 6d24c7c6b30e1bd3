// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/host_compiler.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "cache/base/error.hpp"
#include "cache/base/sanitizers.hpp"
#include "tests/unit/emulator/emulated.hpp"
#include "tuner/process/subprocess.hpp"

namespace tilewright::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

CompileRequest request_of(const std::string& source) {
  CompileRequest request;
  request.source = "#include \"device/config.cuh\"\nnamespace tilewright_generated { struct Config {}; }\n" + source;
  request.name = "sample.cu";
  request.entries = {"sample"};
  request.arch = "cpu";
  return request;
}

constexpr const char* kSample = "template <class Config> __global__ void sample(int* x) { *x = 1; }\n";

TEST(HostCompiler, compiles_to_a_module_that_runs_and_reports_itself) {
  HostCompiler compiler;
  EXPECT_THAT(compiler.version(), testing::AnyOf(StartsWith("g++ "), StartsWith("clang++ ")));
  const CompileResult result = compiler.compile(request_of(kSample));
  ASSERT_TRUE(result.ok) << result.log;
  EXPECT_EQ(result.compiler, compiler.version());
  EXPECT_GT(result.milliseconds, 0.0);
  ASSERT_EQ(result.kernels.size(), 1u);
  EXPECT_EQ(result.kernels[0].entry, "sample");
  EXPECT_EQ(result.kernels[0].symbol, "sample");
  EXPECT_EQ(result.kernels[0].resources.max_threads, 1024);
  const auto module = EmulatorModule::load(result.binary);
  int x = 0;
  int* pointer = &x;
  void* params[] = {&pointer};
  EmulatedLaunch launch;
  launch.entry = "sample";
  launch.params = params;
  ASSERT_EQ(run(*module, launch).text, "");
  EXPECT_EQ(x, 1);
}

TEST(HostCompiler, the_same_source_gives_the_same_bytes) {
  HostCompiler compiler;
  EXPECT_EQ(compiler.compile(request_of(kSample)).binary, compiler.compile(request_of(kSample)).binary);
}

TEST(HostCompiler, a_mistake_in_the_source_is_a_result_with_its_log) {
  HostCompiler compiler;
  const CompileResult result = compiler.compile(
      request_of("template <class Config> __global__ void sample() { static_assert(sizeof(Config) > 9, "
                 "\"cols must divide\"); }\n"));
  EXPECT_FALSE(result.ok);
  EXPECT_TRUE(result.binary.empty());
  EXPECT_TRUE(result.kernels.empty());
  EXPECT_THAT(result.log, HasSubstr("sample.generated.cu:3"));
  EXPECT_THAT(result.log, HasSubstr("cols must divide"));
}

TEST(HostCompiler, an_entry_that_the_source_lacks_is_a_result_with_its_log) {
  HostCompiler compiler;
  CompileRequest request = request_of(kSample);
  request.entries = {"other"};
  const CompileResult result = compiler.compile(request);
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log, HasSubstr("other"));
}

TEST(HostCompiler, folders_of_the_request_are_searched) {
  HostCompiler compiler;
  const auto folder = std::filesystem::temp_directory_path() / ("tilewright-include-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "mine.cuh") << kSample;
  CompileRequest request = request_of("#include \"mine.cuh\"\n");
  EXPECT_FALSE(compiler.compile(request).ok);
  request.include_dirs = {folder};
  EXPECT_TRUE(compiler.compile(request).ok);
  std::filesystem::remove_all(folder);
}

TEST(HostCompiler, an_option_that_the_compiler_does_not_know_is_not_the_kernels_fault) {
  HostCompiler compiler;
  CompileRequest request = request_of(kSample);
  request.options = {"--no-such-option"};
  try {
    static_cast<void>(compiler.compile(request));
    FAIL() << "an unknown option was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("Compiling sample.cu with "));
    EXPECT_THAT(error.what(), HasSubstr("--no-such-option"));
  }
}

// The cause of a killed compiler process (mostly lack of memory) is not the kernel.
TEST(HostCompiler, a_part_of_the_compiler_that_was_killed_is_tried_again) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("tilewright-killed-part-{}", ::getpid());
  std::filesystem::create_directories(folder);
  const std::filesystem::path script = folder / "c++";
  HostCompilerSettings settings = HostCompilerSettings::from_environment();
  const std::string compiler_name = settings.command.empty() ? "c++" : settings.command.front();
  // A script that prints g++'s message of a killed linker once, and counts its calls except for the probe.
  std::ofstream(script)
      << "#!/bin/sh\ncase \"$*\" in *-dM*) exec " << compiler_name << " \"$@\";; esac\n"
      << "echo called >> " << (folder / "calls").string() << "\nif [ $(wc -l < " << (folder / "calls").string()
      << ") = 1 ]; then echo 'collect2: fatal error: ld terminated with signal 9 [Killed]'; exit 1; fi\n"
      << "exec " << compiler_name << " \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  settings.command = {script.string()};
  HostCompiler compiler(settings);
  const CompileResult result = compiler.compile(request_of(kSample));
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(result.ok) << result.log;
}

TEST(HostCompiler, a_request_for_a_gpu_is_refused) {
  HostCompiler compiler;
  CompileRequest request = request_of(kSample);
  request.arch = "sm_90";
  EXPECT_THROW(static_cast<void>(compiler.compile(request)), Error);
}

TEST(HostCompiler, a_compiler_that_takes_too_long_is_killed_and_the_log_says_so) {
  HostCompilerSettings settings;
  settings.limit = std::chrono::milliseconds(1);
  HostCompiler compiler(settings);
  const auto start = std::chrono::steady_clock::now();
  const CompileResult result = compiler.compile(request_of(kSample));
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log, HasSubstr("was killed: it had not compiled sample.cu after"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(HostCompiler, a_command_that_is_no_compiler_is_refused_by_name) {
  HostCompilerSettings settings;
  settings.command = {"true"};
  try {
    HostCompiler compiler(settings);
    FAIL() << "`true` was taken for a compiler";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("true is not a C++ compiler that the emulator can use"));
    EXPECT_THAT(error.what(), HasSubstr("Set CXX"));
  }
  settings.command = {"/no/such/compiler"};
  EXPECT_THROW(HostCompiler{settings}, Error);
}

TEST(HostCompiler, clang_serves_where_it_is_installed) {
  HostCompilerSettings settings;
  settings.command = {"clang++"};
  std::unique_ptr<HostCompiler> compiler;
  try {
    compiler = std::make_unique<HostCompiler>(settings);
  } catch (const Error&) {
    GTEST_SKIP() << "no clang++ here";
  }
  if (kAddressSanitizer) GTEST_SKIP() << "clang's AddressSanitizer is not this program's";
  EXPECT_THAT(compiler->version(), StartsWith("clang++ "));
  const CompileResult result = compiler->compile(request_of(R"cu(
template <class Config> __global__ void sample(int* x) {
  __shared__ int part[64];
  part[threadIdx.x] = __shfl_xor_sync(0xffffffffu, static_cast<int>(threadIdx.x), 1);
  __syncthreads();
  x[threadIdx.x] = part[63 - threadIdx.x];
})cu"));
  ASSERT_TRUE(result.ok) << result.log;
  const auto module = EmulatorModule::load(result.binary);
  std::vector<int> x(64);
  int* pointer = x.data();
  void* params[] = {&pointer};
  EmulatedLaunch launch = extents(1, 64);
  launch.entry = "sample";
  launch.params = params;
  ASSERT_EQ(run(*module, launch).text, "");
  for (int i = 0; i < 64; ++i) EXPECT_EQ(x[static_cast<std::size_t>(i)], (63 - i) ^ 1);
}

TEST(HostCompiler, flags_for_a_debugger_are_part_of_the_version) {
  HostCompilerSettings settings;
  settings.flags = {"-g", "-O0"};
  HostCompiler compiler(settings);
  EXPECT_THAT(compiler.version(), testing::EndsWith(" -g -O0"));
  EXPECT_TRUE(compiler.compile(request_of(kSample)).ok);
}

TEST(HostCompiler, threads_compile_at_the_same_time) {
  HostCompiler compiler;
  CompileResult first;
  std::thread other([&] { first = compiler.compile(request_of(kSample)); });
  const CompileResult second = compiler.compile(request_of(kSample));
  other.join();
  EXPECT_TRUE(first.ok);
  EXPECT_EQ(first.binary, second.binary);
}

TEST(Subprocess, collects_both_outputs_and_the_exit_code) {
  const SubprocessResult result =
      run_subprocess({"sh", "-c", "echo out; echo err >&2; exit 3"}, std::chrono::seconds(10));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.output, "out\nerr\n");
  EXPECT_FALSE(result.timed_out);
}

TEST(Subprocess, whose_exit_code_is_lost_has_failed) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const SubprocessResult result = run_subprocess({"/bin/sh", "-c", "exit 3"}, std::chrono::seconds(30));
  std::signal(SIGCHLD, before);
  EXPECT_NE(result.exit_code, 0);
}

TEST(Subprocess, kills_the_program_and_its_children_at_the_limit) {
  const auto start = std::chrono::steady_clock::now();
  const SubprocessResult result = run_subprocess({"sh", "-c", "sleep 60 & sleep 60"}, std::chrono::milliseconds(100));
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.exit_code, 128 + 9);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Subprocess, a_program_that_is_not_there_is_an_error_that_names_it) {
  try {
    static_cast<void>(run_subprocess({"/no/such/program", "now"}, std::chrono::seconds(1)));
    FAIL() << "it ran";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("Running /no/such/program now failed"));
  }
}

TEST(Subprocess, much_output_does_not_block) {
  const SubprocessResult result = run_subprocess({"sh", "-c", "head -c 1000000 /dev/zero"}, std::chrono::seconds(30));
  EXPECT_EQ(result.output.size(), 1000000u);
}

}  // namespace
}  // namespace tilewright::test
