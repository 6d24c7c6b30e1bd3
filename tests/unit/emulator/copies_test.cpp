// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies and their mbarriers: tuner/device/cpu/async_copies.cpp and mbarriers.cpp.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test {
namespace {

using ::testing::HasSubstr;
using Status = EmulatedOutcome::Status;

std::vector<float> counted(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

/// A two-stage pipeline of cp.async over a row, with the given waits.
std::string pipeline(const std::string& wait) {
  return R"cu(
#include "device/ptx/cp_async.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(const float* x, float* y, int steps) {
  float* shared = shared_storage<float>();
  const int t = threadIdx.x;
  const auto start = [&](int step) {
    if (step < steps) ptx::cp_async<4>(&shared[step % 2 * 64 + t], &x[step * 64 + t]);
    ptx::cp_async_commit();
  };
  start(0);
  for (int step = 0; step < steps; ++step) {
    start(step + 1);
    )cu" +
         wait + R"cu(;
    __syncthreads();
    y[step * 64 + t] = shared[step % 2 * 64 + 63 - t];
    __syncthreads();
  }
})cu";
}

TEST(CpAsync, a_pipeline_that_waits_for_its_group_reads_what_was_copied) {
  const EmulatedKernel kernel(pipeline("ptx::cp_async_wait<1>()"));
  const std::vector<float> x = counted(5 * 64);
  std::vector<float> y(x.size());
  ASSERT_EQ(kernel.run(extents(1, 64, 512), x.data(), y.data(), 5).text, "");
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], x[i / 64 * 64 + 63 - i % 64]);
}

TEST(CpAsync, a_missing_wait_reads_poison) {
  const EmulatedKernel kernel(pipeline("static_cast<void>(0)"));
  const std::vector<float> x = counted(5 * 64);
  std::vector<float> y(x.size());
  ASSERT_EQ(kernel.run(extents(1, 64, 512), x.data(), y.data(), 5).text, "");
  for (const float value : y) EXPECT_TRUE(std::isnan(value));
}

TEST(CpAsync, a_wait_for_one_group_too_few_reads_poison) {
  const EmulatedKernel kernel(pipeline("ptx::cp_async_wait<2>()"));
  const std::vector<float> x = counted(5 * 64);
  std::vector<float> y(x.size());
  ASSERT_EQ(kernel.run(extents(1, 64, 512), x.data(), y.data(), 5).text, "");
  EXPECT_TRUE(std::isnan(y[0]));
}

TEST(CpAsync, a_copy_that_was_not_committed_is_not_waited_for) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/cp_async.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(const float* x, float* y) {
  float* shared = shared_storage<float>();
  ptx::cp_async<16>(shared, x);
  ptx::cp_async_wait<0>();
  y[0] = shared[0];
  ptx::cp_async_commit();
  ptx::cp_async_wait<0>();
  y[1] = shared[3];
})cu");
  alignas(16) const float x[4] = {1, 2, 3, 4};
  float y[2] = {};
  ASSERT_EQ(kernel.run(extents(1, 1, 16), &x[0], &y[0]).text, "");
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 4.0f);
}

TEST(CpAsync, zero_fill_reads_only_the_bytes_asked_for) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/cp_async.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(const float* x, float* y) {
  float* shared = shared_storage<float>();
  ptx::cp_async_zero_fill<16>(shared, x, 8);
  ptx::cp_async_zero_fill<8>(shared + 4, nullptr, 0);
  ptx::cp_async_commit();
  ptx::cp_async_wait<0>();
  for (int i = 0; i < 6; ++i) y[i] = shared[i];
})cu");
  alignas(16) const float x[4] = {1, 2, 3, 4};
  std::vector<float> y(6, 9.0f);
  ASSERT_EQ(kernel.run(extents(1, 1, 32), &x[0], y.data()).text, "");
  EXPECT_THAT(y, testing::ElementsAre(1, 2, 0, 0, 0, 0));
}

TEST(CpAsync, a_misaligned_copy_is_reported) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/cp_async.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(const float* x) { ptx::cp_async<16>(shared_storage<float>(), x); })cu");
  alignas(16) const float x[8] = {};
  const EmulatedOutcome outcome = kernel.run(extents(1, 1, 16), &x[1]);
  EXPECT_EQ(outcome.status, Status::misaligned);
  EXPECT_THAT(outcome.text, HasSubstr("cp.async from an address that is no multiple of its size at address 0x"));
}

/// Loads `steps` tiles of 64 floats through `stages` buffers with bulk copies, sums them, and stores the sums in bulk.
constexpr const char* kBulk = R"cu(
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/shared.cuh"
struct Shared {
  alignas(128) float tile[2][64];
  alignas(128) float out[64];
  u64 full[2];
  u64 empty[2];
};
template <class Config> __global__ void kernel(const float* x, float* y, int steps) {
  Shared& shared = *shared_storage<Shared>();
  const int t = threadIdx.x;
  if (t == 0) {
    for (int s = 0; s < 2; ++s) {
      ptx::mbarrier_init(&shared.full[s], 1);
      ptx::mbarrier_init(&shared.empty[s], 64);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (t >= 64) {
    // The producer warp.
    if (t == 64) {
      for (int step = 0; step < steps; ++step) {
        const int s = step % 2;
        ptx::mbarrier_wait(&shared.empty[s], (step / 2 & 1) ^ 1);
        EXPECT;
        ptx::bulk_load(shared.tile[s], x + step * 64, 256, &shared.full[s]);
      }
    }
  } else {
    float sum = 0;
    for (int step = 0; step < steps; ++step) {
      const int s = step % 2;
      ptx::mbarrier_wait(&shared.full[s], PARITY);
      sum += shared.tile[s][t];
      ptx::mbarrier_arrive(&shared.empty[s]);
    }
    shared.out[t] = sum;
    ptx::fence_shared_to_async();
  }
  __syncthreads();
  if (t == 0) {
    ptx::bulk_store(y, shared.out, 256);
    ptx::bulk_commit();
    STORE_WAIT;
  }
})cu";

struct BulkVariant {
  std::string expect = "ptx::mbarrier_arrive_expect_tx(&shared.full[s], 256)";
  std::string parity = "step / 2 & 1";
  std::string store_wait = "ptx::bulk_wait<0>()";

  [[nodiscard]] EmulatedOutcome run(std::vector<float>& y, std::uint64_t seed = 0) const {
    const EmulatedKernel kernel("#define EXPECT " + expect + "\n#define PARITY " + parity + "\n#define STORE_WAIT " +
                                store_wait + "\n" + kBulk);
    const std::vector<float> source = counted(6 * 64 + 4);
    const float* x = source.data();
    while (reinterpret_cast<std::uintptr_t>(x) % 16 != 0) ++x;
    std::vector<float> padded(64 + 4);
    float* out = padded.data();
    while (reinterpret_cast<std::uintptr_t>(out) % 16 != 0) ++out;
    EmulatedLaunch launch = extents(1, 96, 1024);
    launch.seed = seed;
    launch.time_limit = std::chrono::seconds(20);
    const EmulatedOutcome outcome = kernel.run(launch, x, out, 6);
    y.assign(out, out + 64);
    for (std::size_t i = 0; i < 64; ++i) expected_.push_back(6 * x[i] + 64 * 15);
    return outcome;
  }
  mutable std::vector<float> expected_;
};

TEST(BulkCopy, a_pipeline_of_loads_and_a_store_move_every_byte) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    BulkVariant variant;
    std::vector<float> y;
    ASSERT_EQ(variant.run(y, seed).text, "");
    EXPECT_EQ(y, variant.expected_);
  }
}

TEST(BulkCopy, waiting_for_the_wrong_parity_reads_poison_or_never_ends) {
  BulkVariant variant;
  variant.parity = "(step / 2 & 1) ^ 1";
  std::vector<float> y;
  const EmulatedOutcome outcome = variant.run(y);
  if (outcome.ok()) {
    EXPECT_TRUE(std::isnan(y[0]));
  } else {
    EXPECT_EQ(outcome.status, Status::deadlock) << outcome.text;
  }
}

TEST(BulkCopy, bytes_that_nobody_expects_read_as_poison) {
  BulkVariant variant;
  variant.expect = "ptx::mbarrier_arrive(&shared.full[s])";
  std::vector<float> y;
  const EmulatedOutcome outcome = variant.run(y);
  EXPECT_TRUE(!outcome.ok() || std::isnan(y[0])) << outcome.text;
}

TEST(BulkCopy, more_bytes_expected_than_copied_is_a_deadlock_on_the_mbarrier) {
  BulkVariant variant;
  variant.expect = "ptx::mbarrier_arrive_expect_tx(&shared.full[s], 512)";
  std::vector<float> y;
  const EmulatedOutcome outcome = variant.run(y);
  EXPECT_EQ(outcome.status, Status::deadlock);
  EXPECT_THAT(outcome.text, HasSubstr("64 threads waiting on the mbarrier at 0x"));
  EXPECT_THAT(outcome.text, HasSubstr("for the end of its phase 0 (kernel.generated.cu:"));
}

TEST(BulkCopy, a_store_that_is_not_waited_for_never_lands) {
  BulkVariant variant;
  variant.store_wait = "static_cast<void>(0)";
  std::vector<float> y;
  ASSERT_EQ(variant.run(y).text, "");
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_TRUE(std::isnan(y[63]));
}

TEST(BulkCopy, a_store_whose_source_was_read_lands_when_the_thread_exits) {
  BulkVariant variant;
  variant.store_wait = "ptx::bulk_wait_read<0>(); shared.out[0] = 0";
  std::vector<float> y;
  ASSERT_EQ(variant.run(y).text, "");
  EXPECT_EQ(y, variant.expected_);
}

TEST(BulkCopy, a_source_overwritten_too_early_shows_in_the_result) {
  BulkVariant variant;
  variant.store_wait = "shared.out[0] = -1; ptx::bulk_wait<0>()";
  std::vector<float> y;
  ASSERT_EQ(variant.run(y).text, "");
  EXPECT_EQ(y[0], -1.0f);
}

/// Four blocks add 64 floats each: to y[0 … 63] in bulk, to y[64 … 127] in fours.
constexpr const char* kSums = R"cu(
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/global_reduce.cuh"
#include "device/shared.cuh"
struct Shared {
  alignas(128) float addends[64];
};
template <class Config> __global__ void kernel(float* y) {
  Shared& shared = *shared_storage<Shared>();
  const int t = threadIdx.x;
  for (int i = 0; i < 2; ++i) shared.addends[t + i * 32] = t + i * 32 + blockIdx.x;
  ptx::fence_shared_to_async();
  __syncthreads();
  if (t < 16) {
    const float* own = shared.addends + t * 4;
    ptx::reduce_add(y + 64 + t * 4 + SHIFT, own[0], own[1], own[2], own[3]);
  }
  __syncthreads();
  if (t == 0) {
    ptx::bulk_reduce_add(y, shared.addends, 256);
    ptx::bulk_commit();
    WAIT;
  }
})cu";

EmulatedOutcome run_sums(const std::string& wait, int shift, std::vector<float>& y) {
  const EmulatedKernel kernel(fmt::format("#define WAIT {}\n#define SHIFT {}\n", wait, shift) + kSums);
  std::vector<float> padded(128 + 8, 1.0F);
  float* out = padded.data();
  while (reinterpret_cast<std::uintptr_t>(out) % 16 != 0) ++out;
  const EmulatedOutcome outcome = kernel.run(extents(4, 32, 1024), out);
  y.assign(out, out + 128);
  return outcome;
}

TEST(Sums, of_all_blocks_are_added_to_what_was_there) {
  for (const char* wait : {"ptx::bulk_wait<0>()", "ptx::bulk_wait_read<0>(); shared.addends[0] = 1000"}) {
    std::vector<float> y;
    ASSERT_EQ(run_sums(wait, 0, y).text, "");
    for (std::size_t i = 0; i < 128; ++i) {
      EXPECT_EQ(y[i], 1 + 4 * static_cast<float>(i % 64) + 6) << wait << ", float " << i;
    }
  }
}

TEST(Sums, in_bulk_lack_what_nobody_waits_for_and_have_what_was_overwritten_too_early) {
  std::vector<float> y;
  ASSERT_EQ(run_sums("", 0, y).text, "");
  EXPECT_EQ(y[1], 1.0F);
  ASSERT_EQ(run_sums("shared.addends[1] = 1000; ptx::bulk_wait<0>()", 0, y).text, "");
  EXPECT_EQ(y[1], 4001.0F);
}

TEST(Sums, at_an_address_that_is_no_multiple_of_16_bytes_are_reported) {
  std::vector<float> y;
  EXPECT_THAT(run_sums("ptx::bulk_wait<0>()", 1, y).text, HasSubstr("16-byte sum at address 0x"));
}

TEST(Mbarrier, a_thread_barrier_made_of_arrivals_works_phase_after_phase) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/mbarrier.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(int* wrong) {
  u64* barrier = shared_storage<u64>();
  int* values = reinterpret_cast<int*>(barrier + 1);
  if (threadIdx.x == 0) ptx::mbarrier_init(barrier, blockDim.x);
  __syncthreads();
  for (int phase = 0; phase < 6; ++phase) {
    values[phase * blockDim.x + threadIdx.x] = phase;
    ptx::mbarrier_arrive(barrier);
    if (threadIdx.x % 2 == 0) {
      ptx::mbarrier_wait(barrier, phase & 1);
    } else {
      while (!ptx::mbarrier_test_wait(barrier, phase & 1)) {
      }
    }
    if (values[phase * blockDim.x + blockDim.x - 1 - threadIdx.x] != phase) atomicAdd(wrong, 1);
  }
})cu");
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    int wrong = 0;
    EmulatedLaunch launch = extents(2, 96, 8 + 6 * 96 * 4);
    launch.seed = seed;
    ASSERT_EQ(kernel.run(launch, &wrong).text, "");
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Mbarrier, use_before_init_is_reported) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/mbarrier.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel() { ptx::mbarrier_arrive(shared_storage<u64>()); })cu");
  const EmulatedOutcome outcome = kernel.run(extents(1, 1, 8));
  EXPECT_EQ(outcome.status, Status::bad_barrier);
  EXPECT_THAT(outcome.text, HasSubstr("an mbarrier was used before mbarrier_init, or overwritten at address 0x"));
}

TEST(Mbarrier, one_arrival_too_many_is_reported) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/mbarrier.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel() {
  u64* barrier = shared_storage<u64>();
  ptx::mbarrier_init(barrier, 2);
  ptx::mbarrier_arrive(barrier, 3);
})cu");
  const EmulatedOutcome outcome = kernel.run(extents(1, 1, 8));
  EXPECT_EQ(outcome.status, Status::bad_barrier);
  EXPECT_THAT(outcome.text, HasSubstr("more arrivals at an mbarrier than its phase expects"));
}

TEST(Mbarrier, a_bulk_copy_of_an_odd_size_is_reported) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(const float* x) {
  u64* barrier = shared_storage<u64>();
  ptx::mbarrier_init(barrier, 1);
  ptx::bulk_load(barrier + 2, x, 24, barrier);
})cu");
  alignas(16) const float x[8] = {};
  const EmulatedOutcome outcome = kernel.run(extents(1, 1, 64), &x[0]);
  EXPECT_EQ(outcome.status, Status::misaligned);
  EXPECT_THAT(outcome.text, HasSubstr("a bulk copy moves a positive multiple of 16 bytes"));
}

}  // namespace
}  // namespace tilewright::test
