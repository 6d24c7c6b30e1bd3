// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include "cache/driver/cuda.hpp"
#include "cache/driver/driver_table.hpp"
#include "cache/driver/tensor_maps.hpp"
#include "tuner/compile/host_compiler.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/definition/kernels_dir.hpp"
#include "tuner/device/cpu/emulator.hpp"

/// Runs one source on a GPU and on the emulator, which must write the same bits; or on a GPU alone, if the emulator
/// does not model it, and then the test knows the bits.
namespace tilewright::test {

using Words = std::vector<std::uint32_t>;

struct Launch {
  unsigned blocks = 1;
  unsigned threads = 32;
  unsigned cluster = 1;
  std::uint32_t shared_bytes = 0;
};

/// A tensor map of the kernel's input or output.
struct MapOf {
  enum class Tensor { in, out } tensor;
  PlannedMap map;
};

class DeviceFunctions : public ::testing::Test {
 protected:
  void SetUp() override {
    const cuda::Driver* driver = cuda::Driver::find(&why_no_gpu_);
    if (driver == nullptr) return;
    if (driver->device_count() == 0 || driver->facts(0).compute_capability != 90) {
      why_no_gpu_ = "none of compute capability 9.0 is here";
      return;
    }
    driver_ = driver;
    context_ = std::make_unique<cuda::PrimaryContext>(*driver_, 0);
  }

  /// Runs `kernel(const u32* in, u32* out)` on both, and compares the outputs. Without a GPU it is compiled for both
  /// and runs on the emulator, then the test is skipped.
  void expect_same(const std::string& body, const Launch& launch, const Words& in, std::size_t out_words) {
    const Words emulated = on_emulator(request_of(body), launch, in, out_words);
    run_on_gpu(body, launch, in, out_words, {}, [&](const Words& real) {
      for (std::size_t i = 0; i < out_words; ++i) {
        EXPECT_EQ(real[i], emulated[i]) << "word " << i << ": the GPU and the emulator differ";
        if (real[i] != emulated[i]) break;
      }
    });
  }

  /// Compiles for sm_90a, with or without a GPU; fails if that fails or registers spill. Then runs `kernel(const u32*
  /// in, u32* out, the maps)` on zeroed memory and passes the output to `check`. Without a GPU the test is skipped.
  void run_on_gpu(const std::string& body, const Launch& launch, const Words& in, std::size_t out_words,
                  const std::vector<MapOf>& maps, const std::function<void(const Words&)>& check) {
    NvrtcReport report;
    auto nvrtc = NvrtcLibrary::find(nvrtc_search_places(), &report);
    if (nvrtc == nullptr) GTEST_SKIP() << report.why;
    CompileRequest request = request_of(body);
    request.arch = "sm_90a";
    const CompileResult compiled = NvrtcCompiler(std::move(nvrtc)).compile(request);
    ASSERT_TRUE(compiled.ok) << compiled.log;
    EXPECT_EQ(compiled.kernels.at(0).resources.spill_store_bytes, 0) << compiled.log;
    if (driver_ == nullptr) GTEST_SKIP() << "needs a GPU: " << why_no_gpu_;
    check(on_gpu(compiled, launch, in, out_words, maps));
  }

 private:
  static CompileRequest request_of(const std::string& body) {
    CompileRequest request;
    request.source =
        "#include \"device/config.cuh\"\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
        "namespace tilewright_generated {\nstruct Config {};\n}\nusing namespace tilewright;\n" +
        body;
    request.name = "kernel.cu";
    request.entries = {"kernel"};
    request.include_dirs = {kernels_dir()};
    return request;
  }

  static Words on_emulator(CompileRequest request, const Launch& launch, const Words& in, std::size_t out_words) {
    request.arch = "cpu";
    const CompileResult compiled = HostCompiler().compile(request);
    EXPECT_TRUE(compiled.ok) << compiled.log;
    alignas(128) static std::uint32_t input[1 << 16];
    alignas(128) static std::uint32_t output[1 << 17];
    std::copy(in.begin(), in.end(), input);
    std::fill_n(output, out_words, 0);
    const std::uint32_t* from = input;
    std::uint32_t* to = output;
    void* params[] = {&from, &to};
    EmulatedLaunch emulated;
    emulated.entry = "kernel";
    emulated.grid = {launch.blocks, 1, 1};
    emulated.block = {launch.threads, 1, 1};
    emulated.cluster = {launch.cluster, 1, 1};
    emulated.shared_bytes = launch.shared_bytes;
    emulated.params = params;
    const EmulatedOutcome outcome = run(*EmulatorModule::load(compiled.binary), emulated);
    EXPECT_TRUE(outcome.ok()) << outcome.text;
    return Words(output, output + out_words);
  }

  Words on_gpu(const CompileResult& compiled, const Launch& launch, const Words& in, std::size_t out_words,
               const std::vector<MapOf>& maps) {
    const cuda::Module module(*driver_, compiled.binary, "a test's kernel");
    const auto& table = driver_->table();
    const cuda::Buffer input(*driver_, in.size() * 4 + 4, "input");
    const cuda::Buffer output(*driver_, out_words * 4, "output");
    Words out(out_words);
    driver_->call("copying the input", table.memcpy_htod, input.address(), static_cast<const void*>(in.data()),
                  in.size() * 4);
    driver_->call("clearing the output", table.memcpy_htod, output.address(), static_cast<const void*>(out.data()),
                  out_words * 4);
    cuda::Address from = input.address();
    cuda::Address to = output.address();
    std::vector<cuda::TensorMap> encoded(maps.size());
    std::vector<void*> params{&from, &to};
    for (std::size_t i = 0; i < maps.size(); ++i) {
      cuda::TensorMaps of(*driver_, maps[i].map);
      driver_->check(of.get(maps[i].tensor == MapOf::Tensor::in ? from : to, encoded[i]), "cuTensorMapReplaceAddress");
      params.push_back(&encoded[i]);
    }
    cuda::LaunchAttribute attribute{};
    attribute.id = cuda::LaunchAttribute::Id::cluster_dimension;
    attribute.value.cluster = {launch.cluster, 1, 1};
    const cuda::LaunchConfig config{launch.blocks, 1,          1, launch.threads, 1, 1, launch.shared_bytes,
                                    nullptr,       &attribute, 1};
    driver_->call("launching", table.launch_kernel_ex, &config,
                  module.function(compiled.kernels[0].symbol, launch.shared_bytes, false), params.data(),
                  static_cast<void**>(nullptr));
    context_->synchronize();
    driver_->call("copying the output", table.memcpy_dtoh, static_cast<void*>(out.data()), output.address(),
                  out_words * 4);
    return out;
  }

  const cuda::Driver* driver_ = nullptr;
  std::string why_no_gpu_;
  std::unique_ptr<cuda::PrimaryContext> context_;
};

inline Words random_words(std::size_t count, std::uint64_t seed = 1) {
  Words words(count);
  for (std::uint32_t& word : words) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    word = static_cast<std::uint32_t>(seed >> 32);
  }
  return words;
}

}  // namespace tilewright::test
