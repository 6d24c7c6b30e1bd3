// SPDX-License-Identifier: Apache-2.0
// Modules and launches: tuner/device/cpu/module.cpp and emulator.cpp.
#include "tuner/device/cpu/emulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/base/sanitizers.hpp"
#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test {
namespace {

using ::testing::HasSubstr;
using Status = EmulatedOutcome::Status;

constexpr const char* kNothing = "template <class Config> __global__ void kernel() {}";

TEST(EmulatorModule, lists_its_kernels_and_finds_them_by_name) {
  const EmulatedKernel kernel(kNothing);
  EXPECT_THAT(kernel.module().entries(), testing::ElementsAre("kernel"));
  ASSERT_NE(kernel.module().find("kernel"), nullptr);
  EXPECT_EQ(kernel.module().find("kernel")->param_count, 0u);
  EXPECT_EQ(kernel.module().find("other"), nullptr);
}

TEST(EmulatorModule, a_file_that_is_no_module_is_refused_with_its_name) {
  const auto path = std::filesystem::temp_directory_path() / ("tilewright-not-a-module-" + std::to_string(getpid()));
  std::ofstream(path) << "text";
  try {
    static_cast<void>(EmulatorModule::load(path));
    FAIL() << "a text file was loaded";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("Loading the emulator module " + path.string() + " failed"));
  }
  std::filesystem::remove(path);
  EXPECT_THROW(static_cast<void>(EmulatorModule::load(std::filesystem::path("/lib/x86_64-linux-gnu/libm.so.6"))),
               DeviceError);
}

TEST(EmulatorModule, two_modules_with_the_same_names_stay_apart) {
  const std::string source = R"cu(
template <class T> __device__ int* scratch() {
  __shared__ int value;
  return &value;
}
template <class Config> __device__ int constant() { static int calls = 0; return ++calls * NUMBER; }
template <class Config> __global__ void kernel(int* out) {
  *scratch<Config>() = constant<Config>();
  *out = *scratch<Config>();
})cu";
  const EmulatedKernel one("#define NUMBER 1\n" + source);
  const EmulatedKernel ten("#define NUMBER 10\n" + source);
  int out = 0;
  ASSERT_EQ(one.run(extents(1, 1), &out).text, "");
  EXPECT_EQ(out, 1);
  ASSERT_EQ(ten.run(extents(1, 1), &out).text, "");
  EXPECT_EQ(out, 10);
}

TEST(Launch, parameters_of_every_type_arrive) {
  const EmulatedKernel kernel(R"cu(
#include "device/tensor_map.cuh"
template <class Config>
__global__ void kernel(double* out, long long n, float f, int i, const __grid_constant__ TensorMap map, unsigned char c,
                       unsigned long long u) {
  out[0] = static_cast<double>(n);
  out[1] = f;
  out[2] = i;
  out[3] = static_cast<double>(map.opaque[15]);
  out[4] = c;
  out[5] = static_cast<double>(u);
})cu");
  struct alignas(64) Map {
    unsigned long long opaque[16] = {};
  } map;
  map.opaque[15] = 77;
  std::vector<double> out(6);
  ASSERT_EQ(
      kernel.run(extents(1, 1), out.data(), 1ll << 40, 0.5f, -3, map, static_cast<unsigned char>(200), 1ull << 50).text,
      "");
  EXPECT_THAT(out,
              testing::ElementsAre(static_cast<double>(1ll << 40), 0.5, -3, 77, 200, static_cast<double>(1ull << 50)));
}

TEST(Launch, what_no_gpu_would_take_is_refused) {
  const EmulatedKernel kernel(kNothing);
  const auto refusal = [&](auto change) {
    EmulatedLaunch launch = extents(2, 32);
    change(launch);
    const EmulatedOutcome outcome = kernel.run(launch);
    EXPECT_EQ(outcome.status, Status::bad_launch);
    return outcome.text;
  };
  EXPECT_THAT(refusal([](EmulatedLaunch& l) { l.grid = {0, 1, 1}; }), HasSubstr("an extent is zero"));
  EXPECT_THAT(refusal([](EmulatedLaunch& l) { l.block = {1025, 1, 1}; }), HasSubstr("at most 1024 threads"));
  EXPECT_THAT(refusal([](EmulatedLaunch& l) { l.block = {1, 1, 65}; }), HasSubstr("64 along z, this one 1 x 1 x 65"));
  EXPECT_THAT(refusal([](EmulatedLaunch& l) { l.grid = {1, 70000, 1}; }), HasSubstr("65535"));
  EXPECT_THAT(refusal([](EmulatedLaunch& l) {
                l.cluster = {3, 1, 1};
              }),
              HasSubstr("not a multiple of the cluster 3 x 1 x 1"));
  EXPECT_THAT(refusal([](EmulatedLaunch& l) {
                l.grid = {32, 1, 1};
                l.cluster = {32, 1, 1};
              }),
              HasSubstr("a cluster has at most 16 blocks"));
  EXPECT_THAT(refusal([](EmulatedLaunch& l) { l.shared_bytes = 240000; }), HasSubstr("at most 232448 bytes"));
  EmulatedLaunch unknown = extents(1, 1);
  unknown.entry = "softmax";
  EXPECT_THAT(tilewright::run(kernel.module(), unknown).text,
              HasSubstr("Launching kernel softmax failed: the module has only: kernel"));
}

TEST(Launch, a_wait_that_never_ends_times_out_and_says_where) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(int* flag) {
  if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) {
    }
  }
  __syncthreads();
})cu");
  int flag = 0;
  EmulatedLaunch launch = extents(1, 64);
  launch.time_limit = std::chrono::milliseconds(50);
  const EmulatedOutcome outcome = kernel.run(launch, &flag);
  EXPECT_EQ(outcome.status, Status::timed_out);
  EXPECT_THAT(outcome.text, HasSubstr("not done after 50 ms"));
  EXPECT_THAT(outcome.text, HasSubstr("1 thread able to run: 0"));
  EXPECT_THAT(outcome.text, HasSubstr("63 threads waiting at __syncthreads()"));
}

TEST(Launch, one_that_fails_leaves_the_next_unharmed) {
  const EmulatedKernel deadlock(R"cu(
template <class Config> __global__ void kernel() {
  if (threadIdx.x < 32) __syncthreads();
  else __syncthreads_count(1);
})cu");
  const EmulatedKernel good(R"cu(
template <class Config> __global__ void kernel(int* sum) {
  __shared__ int part[128];
  part[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) for (int i = 0; i < blockDim.x; ++i) *sum += part[i];
})cu");
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(deadlock.run(extents(1, 64)).ok());
    int sum = 0;
    ASSERT_EQ(good.run(extents(1, 128), &sum).text, "");
    EXPECT_EQ(sum, 128);
  }
}

TEST(Launch, the_largest_cluster_of_the_largest_blocks_runs) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/cluster.cuh"
template <class Config> __global__ void kernel(int* sum) {
  atomicAdd(sum, 1);
  ptx::cluster_sync();
  atomicAdd(sum + 1, *sum == 16384);
})cu");
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer knows at most 8128 fibers";
  EmulatedLaunch launch = extents(16, 1024);
  launch.cluster = {16, 1, 1};
  int sum[2] = {0, 0};
  ASSERT_EQ(kernel.run(launch, &sum[0]).text, "");
  EXPECT_EQ(sum[0], 16384);
  EXPECT_EQ(sum[1], 16384);
}

TEST(Launch, os_threads_may_run_the_same_module_at_once) {
  const EmulatedKernel kernel(R"cu(
#include "device/shared.cuh"
template <class Config> __global__ void kernel(int start, int* out) {
  __shared__ int fixed[64];
  int* dynamic = shared_storage<int>();
  fixed[threadIdx.x] = start + threadIdx.x;
  dynamic[threadIdx.x] = start * 2;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = fixed[63 - threadIdx.x] + dynamic[(threadIdx.x + 1) % 64];
})cu");
  std::atomic<int> wrong = 0;
  const auto work = [&](int start) {
    for (int round = 0; round < 20; ++round) {
      std::vector<int> out(8 * 64);
      EmulatedLaunch launch = extents(8, 64, 256);
      launch.seed = static_cast<std::uint64_t>(round);
      if (!kernel.run(launch, start, out.data()).ok()) ++wrong;
      for (int i = 0; i < 512; ++i) {
        if (out[static_cast<std::size_t>(i)] != start + 63 - i % 64 + 2 * start) ++wrong;
      }
    }
  };
  std::thread first(work, 1000);
  std::thread second(work, 5000);
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Launch, every_status_has_a_name) {
  for (int i = 0; i <= static_cast<int>(Status::bad_launch); ++i) {
    EXPECT_NE(to_string(static_cast<Status>(i)), "unknown");
  }
}

}  // namespace
}  // namespace tilewright::test
