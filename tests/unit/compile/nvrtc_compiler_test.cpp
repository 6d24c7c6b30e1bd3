// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/nvrtc_compiler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>
#include <thread>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

constexpr const char* kScale = R"(
#include <cuda_bf16.h>
namespace tilewright_generated {
struct Config {
  using dtype = __nv_bfloat16;
  static constexpr int threads = 128;
};
}
template <class Config>
__global__ void __launch_bounds__(Config::threads) scale(const typename Config::dtype* x, typename Config::dtype* y,
                                                         long long n) {
  __shared__ float tile[Config::threads];
  tile[threadIdx.x] = threadIdx.x < n ? float(x[threadIdx.x]) : 0.0f;
  __syncthreads();
  if (threadIdx.x < n) y[threadIdx.x] = tile[Config::threads - 1 - threadIdx.x];
}
template <class Config>
__global__ void other(float* y) { y[0] = Config::threads; }
)";

// A source with one kernel `k`.
std::string one_kernel(const std::string& body) {
  return "namespace tilewright_generated { struct Config { static constexpr int n = 4; }; }\n"
         "template <class Config> __global__ void k(float* y) { " +
         body + " }\n";
}

class Nvrtc : public testing::Test {
 protected:
  void SetUp() override {
    NvrtcReport report;
    auto library = NvrtcLibrary::find(nvrtc_search_places(), &report);
    if (library == nullptr) GTEST_SKIP() << report.why;
    if (!report.why_no_headers.empty()) GTEST_SKIP() << report.why_no_headers;
    compiler_ = std::make_unique<NvrtcCompiler>(std::move(library));
  }
  static CompileRequest request(std::string source = kScale, std::vector<std::string> entries = {"scale"}) {
    return {std::move(source), "scale.cu", std::move(entries), "sm_90a", {}, {}};
  }
  std::unique_ptr<NvrtcCompiler> compiler_;
};

TEST_F(Nvrtc, makes_a_cubin_with_symbols_and_resources_of_every_entry) {
  const CompileResult result = compiler_->compile(request(kScale, {"scale", "other"}));
  ASSERT_TRUE(result.ok) << result.log;
  ASSERT_GE(result.binary.size(), 4u);
  EXPECT_EQ(std::memcmp(result.binary.data(), "\177ELF", 4), 0);
  ASSERT_EQ(result.kernels.size(), 2u);
  EXPECT_EQ(result.kernels[0].entry, "scale");
  EXPECT_THAT(result.kernels[0].symbol, HasSubstr("scale"));
  EXPECT_GT(result.kernels[0].resources.registers, 0);
  EXPECT_EQ(result.kernels[0].resources.static_shared_bytes, 512);
  EXPECT_EQ(result.kernels[0].resources.max_threads, 128);
  EXPECT_THAT(result.kernels[1].symbol, HasSubstr("other"));
  EXPECT_EQ(result.kernels[1].resources.max_threads, 1024);
  EXPECT_THAT(result.compiler, HasSubstr("NVRTC "));
  EXPECT_THAT(result.log, HasSubstr("registers"));
  EXPECT_GT(result.milliseconds, 0);
}

TEST_F(Nvrtc, gives_the_same_bytes_for_the_same_source) {
  EXPECT_EQ(compiler_->compile(request()).binary, compiler_->compile(request()).binary);
}

TEST_F(Nvrtc, gives_ptx_on_request) {
  std::string ptx;
  const CompileResult result = compiler_->compile(request(), ptx);
  ASSERT_TRUE(result.ok) << result.log;
  EXPECT_THAT(ptx, HasSubstr(".target sm_90a"));
  EXPECT_THAT(ptx, HasSubstr(".entry " + result.kernels[0].symbol));
}

TEST_F(Nvrtc, compiles_for_every_architecture_family_that_is_asked_for) {
  for (const char* arch : {"sm_80", "sm_90", "sm_90a"}) {
    CompileRequest one = request();
    one.arch = arch;
    EXPECT_TRUE(compiler_->compile(one).ok) << arch;
  }
}

TEST_F(Nvrtc, refuses_an_architecture_that_it_does_not_know_and_names_those_it_does) {
  for (const char* arch : {"sm_42", "90", "cpu", "sm_90x", ""}) {
    CompileRequest one = request();
    one.arch = arch;
    try {
      (void)compiler_->compile(one);
      FAIL() << arch;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("sm_90"));
    }
  }
}

TEST_F(Nvrtc, a_mistake_in_the_source_is_a_value_with_the_whole_log) {
  const CompileResult result = compiler_->compile(request(one_kernel("nonsense();"), {"k"}));
  EXPECT_FALSE(result.ok);
  EXPECT_TRUE(result.binary.empty());
  EXPECT_TRUE(result.kernels.empty());
  EXPECT_THAT(result.log, HasSubstr("scale.cu(2): error"));
  EXPECT_THAT(result.log, HasSubstr("nonsense"));
}

TEST_F(Nvrtc, a_failed_static_assert_is_a_value_with_its_message) {
  const CompileResult result =
      compiler_->compile(request(one_kernel("static_assert(Config::n < 3, \"n is under three\");"), {"k"}));
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log, HasSubstr("n is under three"));
}

TEST_F(Nvrtc, an_entry_that_is_not_there_is_a_value) {
  const CompileResult result = compiler_->compile(request(kScale, {"missing"}));
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log, HasSubstr("missing"));
}

TEST_F(Nvrtc, too_much_shared_memory_is_a_value) {
  const CompileResult result = compiler_->compile(
      request(one_kernel("__shared__ float s[100000]; s[threadIdx.x] = y[0]; y[1] = s[threadIdx.x + 1];"), {"k"}));
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log, HasSubstr("shared data"));
}

TEST_F(Nvrtc, options_that_it_does_not_know_are_no_failure_of_the_kernel) {
  for (const char* option : {"--no-such-option", "--ptxas-options=--no-such-option"}) {
    CompileRequest one = request();
    one.options = {option};
    try {
      (void)compiler_->compile(one);
      FAIL() << option;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("no-such-option"));
      EXPECT_THAT(error.what(), HasSubstr("compiling scale.cu"));
    }
  }
}

TEST_F(Nvrtc, headers_of_the_request_are_searched_and_a_missing_one_is_named) {
  const CompileResult result = compiler_->compile(request("#include \"device/no_such.cuh\"\n", {}));
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log, HasSubstr("not open source file \"device/no_such.cuh\""));
  CompileRequest with_dir = request("#include \"nvrtc_compiler_test.cuh\"\n" + one_kernel("included(y);"), {"k"});
  with_dir.include_dirs = {TILEWRIGHT_TEST_DIR};
  EXPECT_TRUE(compiler_->compile(with_dir).ok);
}

TEST(InstallationFault, missing_cuda_headers_are_no_failure_of_the_kernel) {
  const std::string log = "scale.cu(2): catastrophic error: cannot open source file \"cuda_bf16.h\"\n";
  NvrtcReport report;
  report.why_no_headers = "no cuda_fp16.h was found";
  EXPECT_EQ(installation_fault(log, report), "no cuda_fp16.h was found");
  report.why_no_headers.clear();
  report.include_dirs = {"/cuda/include", "/cccl/include"};
  EXPECT_EQ(installation_fault(log, report),
            "CUDA's header cuda_bf16.h is missing; looked in /cuda/include, /cccl/include");
  EXPECT_EQ(installation_fault("could not open source file \"device/mine.cuh\"", report), "");
  EXPECT_EQ(installation_fault("", report), "");
}

TEST_F(Nvrtc, compiles_on_several_threads_at_once) {
  const std::vector<std::byte> expected = compiler_->compile(request()).binary;
  std::vector<std::vector<std::byte>> binaries(4);
  std::vector<std::thread> threads;
  for (auto& binary : binaries) {
    threads.emplace_back([&] { binary = compiler_->compile(request()).binary; });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& binary : binaries) EXPECT_EQ(binary, expected);
}

}  // namespace
}  // namespace tilewright
