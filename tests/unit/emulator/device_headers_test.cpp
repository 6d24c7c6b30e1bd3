// SPDX-License-Identifier: Apache-2.0
// The device headers with both compilers: each one alone, and each instruction through ptxas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tuner/compile/host_compiler.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/definition/kernels_dir.hpp"

namespace tilewright::test {
namespace {

namespace fs = std::filesystem;

CompileRequest request_of(const std::string& body, std::vector<std::string> entries, const std::string& arch) {
  CompileRequest request;
  request.source = "namespace tilewright_generated {\nstruct Config {};\n}\n" + body;
  request.name = "headers.cu";
  request.entries = std::move(entries);
  request.arch = arch;
  request.include_dirs = {kernels_dir(), TILEWRIGHT_TEST_DIR};
  return request;
}

/// All headers that kernels may include: "device/vector.cuh"….
std::vector<std::string> device_headers() {
  std::vector<std::string> headers;
  for (const auto& entry : fs::recursive_directory_iterator(kernels_dir() / "device")) {
    if (entry.path().extension() == ".cuh") {
      headers.push_back(fs::relative(entry.path(), kernels_dir()).generic_string());
    }
  }
  std::sort(headers.begin(), headers.end());
  return headers;
}

std::string alone(const std::string& header) {
  return "#include \"" + header + "\"\ntemplate <class Config> __global__ void nothing() {}\n";
}

class DeviceHeadersUnderNvrtc : public testing::Test {
 protected:
  void SetUp() override {
    NvrtcReport report;
    auto library = NvrtcLibrary::find(nvrtc_search_places(), &report);
    if (library == nullptr) GTEST_SKIP() << report.why;
    if (!report.why_no_headers.empty()) GTEST_SKIP() << report.why_no_headers;
    compiler_ = std::make_unique<NvrtcCompiler>(std::move(library));
  }
  std::unique_ptr<NvrtcCompiler> compiler_;
};

TEST_F(DeviceHeadersUnderNvrtc, each_compiles_alone_for_sm_80_and_sm_90a) {
  ASSERT_GT(device_headers().size(), 20u);
  for (const std::string& header : device_headers()) {
    for (const char* arch : {"sm_80", "sm_90a"}) {
      const CompileResult result = compiler_->compile(request_of(alone(header), {"nothing"}, arch));
      EXPECT_TRUE(result.ok) << header << " for " << arch << "\n" << result.log;
    }
  }
}

TEST_F(DeviceHeadersUnderNvrtc, every_instruction_is_one_that_ptxas_knows) {
  const std::string body = "#include \"ptx_functions.cuh\"\n";
  for (const char* arch : {"sm_80", "sm_90", "sm_90a"}) {
    const CompileResult result = compiler_->compile(request_of(body, {"on_sm_80"}, arch));
    EXPECT_TRUE(result.ok) << arch << "\n" << result.log;
  }
  for (const char* arch : {"sm_90", "sm_90a"}) {
    const CompileResult result =
        compiler_->compile(request_of(body, {"on_sm_90", "tensor_copies", "blocks_that_wait"}, arch));
    EXPECT_TRUE(result.ok) << arch << "\n" << result.log;
  }
  const CompileResult result =
      compiler_->compile(request_of(body, {"on_sm_90a", "products", "products_in_steps"}, "sm_90a"));
  EXPECT_TRUE(result.ok) << result.log;
}

TEST_F(DeviceHeadersUnderNvrtc, instructions_of_sm_90_are_refused_for_sm_80) {
  const CompileResult result =
      compiler_->compile(request_of("#include \"ptx_functions.cuh\"\n", {"on_sm_90"}, "sm_80"));
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log, testing::HasSubstr("sm_90"));
}

TEST(DeviceHeadersUnderTheHostCompiler, each_compiles_alone) {
  HostCompiler compiler;
  for (const std::string& header : device_headers()) {
    // Shared-memory addresses for PTX: only the GPU's headers use them.
    if (header == "device/ptx/address.cuh") continue;
    const CompileResult result = compiler.compile(request_of(alone(header), {"nothing"}, "cpu"));
    EXPECT_TRUE(result.ok) << header << "\n" << result.log;
  }
}

TEST(DeviceHeadersUnderTheHostCompiler, the_emulator_has_every_function_with_the_same_arguments) {
  HostCompiler compiler;
  const CompileResult result =
      compiler.compile(request_of("#include \"ptx_functions.cuh\"\n", {"on_sm_80", "on_sm_90", "on_sm_90a"}, "cpu"));
  EXPECT_TRUE(result.ok) << result.log;
}

TEST(DeviceHeadersUnderTheHostCompiler, a_kernel_that_needs_what_the_emulator_has_not_is_told_so) {
  HostCompiler compiler;
  const auto log_of = [&](const char* entry) {
    const CompileResult result = compiler.compile(request_of("#include \"ptx_functions.cuh\"\n", {entry}, "cpu"));
    EXPECT_FALSE(result.ok) << entry;
    return result.log;
  };
  for (const char* entry : {"products", "products_in_steps"}) {
    EXPECT_THAT(log_of(entry), testing::HasSubstr("the emulator does not model wgmma: this kernel needs a GPU"));
  }
  EXPECT_THAT(
      log_of("blocks_that_wait"),
      testing::HasSubstr("the emulator does not model blocks that wait for each other: this kernel needs a GPU"));
  EXPECT_THAT(log_of("tensor_copies"),
              testing::HasSubstr("the emulator does not model copies by tensor maps: this kernel needs a GPU"));
}

TEST(DeviceHeadersUnderTheHostCompiler, every_header_of_instructions_has_a_counterpart_and_is_called) {
  std::ifstream file(fs::path(TILEWRIGHT_TEST_DIR) / "ptx_functions.cuh");
  const std::string functions{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(functions.empty());
  for (const std::string& header : device_headers()) {
    if (!header.starts_with("device/ptx/") || header == "device/ptx/address.cuh") continue;
    EXPECT_TRUE(fs::exists(kernels_dir() / "emulator" / header)) << header;
    EXPECT_THAT(functions, testing::HasSubstr("\"" + header + "\"")) << "ptx_functions.cuh calls each function";
  }
}

}  // namespace
}  // namespace tilewright::test
