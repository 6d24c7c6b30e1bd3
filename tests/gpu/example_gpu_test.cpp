// SPDX-License-Identifier: Apache-2.0
// docs/examples on a GPU. center, a user's op with a tensor map, a cluster, a counter and a dependent kernel, computes
// right results when tuned and when served. The programs check their own results.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <tilewright/launch.hpp>

#include "cache/base/own_file.hpp"
#include "cache/driver/cuda.hpp"
#include "cache/driver/driver_table.hpp"
#include "cache/driver/stream.hpp"
#include "tests/gpu/op_fixture.hpp"
#include "tuner/verify/verify.hpp"

namespace tilewright {
namespace {

using namespace tilewright::testing;

class GpuExample : public OpOnGpu {
 protected:
  GpuExample() : OpOnGpu({kernels_dir().parent_path() / "docs" / "examples"}, "center") {}
};

TEST_F(GpuExample, every_config_is_right_launch_after_launch) {
  for (const char* dims : {"rows=1,cols=4", "rows=1000,cols=1028", "rows=5000,cols=36"}) {
    const Problem problem = parse_problem(fmt::format("center{{{}}}", dims), op_->interface);
    Verifier verifier(*device_, *op_, problem, compile(generate_reference(*op_, problem)));
    const std::vector<Candidate> legal = expand(*op_, problem, device_->facts()).legal;
    EXPECT_GE(legal.size(), 5U) << dims;
    for (const Candidate& candidate : legal) {
      const CompileResult binary = compile(candidate, problem);
      const auto executable = device_->load(binary.binary, kernel_facts(binary), op_->interface,
                                            candidate.implementation->recipe, candidate.config, problem);
      std::vector<std::unique_ptr<DeviceBuffer>> workspaces;
      std::vector<Address> addresses;
      for (const PlannedWorkspace& workspace : executable->plan().workspaces) {
        addresses.push_back(workspaces.emplace_back(device_->allocate(workspace.bytes, workspace.name))->address());
        device_->fill(addresses.back(), 0, workspace.bytes);
      }
      for (int launch = 0; launch < 3; ++launch) {
        EXPECT_EQ(verifier.check(*executable, addresses).reason, "") << candidate.config.text() << " of " << dims;
      }
    }
  }
}

TEST_F(GpuExample, is_served_for_any_addresses_streams_and_graphs) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "cache.db").string();
  const Candidate candidate = resolve_config(*op_, Config::parse("clustered{tile_rows=32,cluster=2,parts=4}"));
  const Problem problem = parse_problem("center{rows=1000,cols=512}", op_->interface);
  serve(path, candidate, problem);
  const cuda::Driver& driver = cuda::Driver::get();
  const cuda::PrimaryContext context(driver, 0);
  const Launcher launcher(path);
  const Op center = launcher.op("center");
  const cuda::OwnedStream stream(driver);

  // One allocation with a matrix each 64 KiB: each launch has its own addresses.
  const auto check = [&](std::int64_t rows, std::int64_t cols, std::size_t place, const auto& launch) {
    const auto count = static_cast<std::size_t>(rows * cols), shift = place * (std::size_t{64} << 10);
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 37 % 1009) / 16;
    const cuda::Buffer memory(driver, shift + count * sizeof(float), "a test");
    const cuda::Address x = memory.address() + shift;
    driver.call("copying", driver.table().memcpy_htod, x, static_cast<const void*>(values.data()),
                count * sizeof(float));
    // A copy from pageable memory may be unfinished when the call returns, and the streams do not wait for the null
    // stream.
    driver.call("waiting for the copy", driver.table().ctx_synchronize);
    launch(reinterpret_cast<float*>(x));
    stream.synchronize("a test");
    std::vector<float> result(count);
    driver.call("copying", driver.table().memcpy_dtoh, static_cast<void*>(result.data()), x, count * sizeof(float));
    double furthest = 0;
    for (std::int64_t c = 0; c < cols; ++c) {
      double sum = 0;
      for (std::int64_t r = 0; r < rows; ++r) sum += double{values[static_cast<std::size_t>(r * cols + c)]};
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto at = static_cast<std::size_t>(r * cols + c);
        const double expected = double{values[at]} - sum / static_cast<double>(rows);
        furthest = std::max(furthest, std::fabs(double{result[at]} - expected));
      }
    }
    EXPECT_LT(furthest, 1e-4) << rows << " x " << cols << " at " << place;
  };
  // In place, with shapes whose counters and means share and grow the stream's memory.
  for (std::size_t place = 0; place < 100; ++place) {
    const std::int64_t rows = place % 3 == 0 ? 1000 : 300, cols = place % 5 == 0 ? 512 : place % 7 == 0 ? 4096 : 64;
    check(rows, cols, place, [&](float* x) { center(stream.get(), {rows, cols}, x, x); });
  }
  check(1000, 512, 3, [&](float* x) {
    const cuda::CapturedGraph graph(driver, stream.get(), [&](cuda::Stream capturing) {
      center(capturing, {1000, 512}, x, x);
    });
    // Centring is idempotent.
    for (int i = 0; i < 3; ++i) graph.launch(stream.get());
    stream.synchronize("a test");
  });
}

/// The programs beside this one, served by $TILEWRIGHT_CACHE, else by the winners of a bundle or a build folder.
class GpuExampleProgram : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    if (device_->facts().name.find("H200") == std::string::npos) GTEST_SKIP() << "needs the shipped winners' GPU";
    if (!exists(winners())) GTEST_SKIP() << winners() << " does not exist: name a cache by TILEWRIGHT_CACHE";
  }

  static std::filesystem::path winners() {
    if (const char* named = std::getenv("TILEWRIGHT_CACHE")) return named;
    const std::filesystem::path bundled = kernels_dir() / "winners" / "nvidia-h200.db";
    return exists(bundled) ? bundled : own_file().parent_path().parent_path() / "winners" / "nvidia-h200.db";
  }

  /// The program's output, with its exit status behind it.
  static std::string run(const std::string& program) {
    const std::string command =
        fmt::format("TILEWRIGHT_CACHE='{}' TILEWRIGHT_ALLOW_SHARED_CACHE=1 TILEWRIGHT_MISSES=off '{}' 2>&1",
                    winners().string(), (own_file().parent_path() / program).string());
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return "cannot run " + command;
    std::string text;
    char buffer[512];
    while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
    return fmt::format("{}exit {}", text, ::pclose(pipe));
  }
};

TEST_F(GpuExampleProgram, of_an_attention_layer_is_right) {
  EXPECT_THAT(run("tilewright-attention-layer"), ::testing::HasSubstr(", right\nexit 0"));
}

TEST_F(GpuExampleProgram, of_a_decode_loop_is_right_step_after_step) {
  EXPECT_THAT(run("tilewright-decode-loop"),
              ::testing::ContainsRegex("40 steps, max error .* of what is allowed, right\nexit 0"));
}

}  // namespace
}  // namespace tilewright
