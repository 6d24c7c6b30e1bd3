// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include "tests/gpu/device_fixture.hpp"
#include "tests/unit/device/small_op.hpp"
#include "tuner/device/tensor_tools.hpp"

namespace tilewright {
namespace {

using tilewright::testing::SmallOp;

class GpuRun : public tilewright::testing::OnGpu {
 protected:
  template <class T>
  std::vector<T> read(const DeviceBuffer& buffer, std::size_t count) {
    std::vector<T> values(count);
    device_->download(std::as_writable_bytes(std::span<T>(values)), buffer.address());
    return values;
  }
};

TEST_F(GpuRun, says_what_it_is) {
  EXPECT_GE(device_->facts().compute_capability, 80);
  EXPECT_GT(device_->facts().l2_bytes, 0);
  EXPECT_EQ(device_->gpu_uuid().substr(0, 4), "GPU-");
  EXPECT_GT(device_->free_bytes(), std::size_t{1} << 30);
  const DeviceReadings readings = device_->readings();
  EXPECT_TRUE(readings.sm_clock_mhz.has_value());
  EXPECT_TRUE(readings.temperature_c.has_value());
}

TEST_F(GpuRun, compiles_loads_and_runs_a_kernel) {
  const auto executable = SmallOp(999).load(*device_);
  const auto x = device_->allocate(4000, "x"), y = device_->allocate(4000, "y");
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  device_->upload(x->address(), std::as_bytes(std::span<const float>(values)));
  device_->fill(y->address(), 0, 4000);
  executable->run({{x->address(), y->address(), std::bit_cast<std::uint32_t>(3.0f)}, {}});
  const auto result = read<float>(*y, 1000);
  for (std::size_t i = 0; i < 999; ++i) ASSERT_EQ(result[i], 3.0f * values[i]) << i;
  EXPECT_EQ(result[999], 0.0f);
}

TEST_F(GpuRun, tensor_tools_compute_the_hosts_bits) {
  constexpr std::int64_t kCount = 5'000'003;
  const auto host = make_host_tools(*device_);
  TensorTools& gpu = device_->tools();
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64, DType::u8}) {
    const std::size_t bytes = (kCount * size_of(type) + 7) / 8 * 8;
    const auto a = device_->allocate(bytes, "a"), b = device_->allocate(bytes, "b");
    const auto wide = device_->allocate(kCount * 8, "wide");
    device_->fill(a->address(), 0, bytes);
    device_->fill(b->address(), 0, bytes);
    gpu.fill_random(a->address(), type, kCount, {utility::kNormal, 50.0, 9});
    host->fill_random(b->address(), type, kCount, {utility::kNormal, 50.0, 9});
    ASSERT_EQ(read<std::byte>(*a, bytes), read<std::byte>(*b, bytes)) << name(type);
    gpu.widen(wide->address(), a->address(), type, kCount);
    const auto words = static_cast<std::int64_t>(bytes / 8);
    EXPECT_EQ(gpu.tally_words(a->address(), words).sum, host->tally_words(a->address(), words).sum) << name(type);

    host->fill_random(b->address(), type, kCount, {utility::kNormal, 50.0, 10});
    device_->fill(b->address() + 800, 0xff, 16);
    const utility::Bounds bounds{1.0, 0.5, std::numeric_limits<double>::infinity()};
    const auto by_gpu = gpu.compare(b->address(), type, wide->address(), kCount, bounds);
    const auto by_host = host->compare(b->address(), type, wide->address(), kCount, bounds);
    EXPECT_EQ(by_gpu.wrong, by_host.wrong) << name(type);
    EXPECT_EQ(by_gpu.unwritten, by_host.unwritten) << name(type);
    EXPECT_EQ(by_gpu.first_wrong, by_host.first_wrong) << name(type);
    EXPECT_EQ(by_gpu.max_absolute, by_host.max_absolute) << name(type);
    EXPECT_NEAR(by_gpu.error_squares / by_host.error_squares, 1, 1e-10) << name(type);
  }
}

TEST_F(GpuRun, fills_and_rounds_by_indices_as_the_host_does) {
  using namespace utility;
  // The odd columns of 3000 × 1001 elements in rows of 1024: half of row · 65537 % (column + 3) / (column - 1000).
  const std::vector<i64> where{3, kPushIndex, 1, kPushNumber, 2, kRemainder, 0};
  const std::vector<i64> value{11, kPushIndex,  0,    kPushNumber, 65537, kMultiply,  0, kPushIndex,
                               1,  kPushNumber, 3,    kAdd,        0,     kRemainder, 0, kPushIndex,
                               1,  kPushNumber, 1000, kSubtract,   0,     kDivide,    0};
  ProgramFill fill{{2, 3000, 1001, 1024, 1, 13}, 3000 * 1001, 0.5};
  fill.words.insert(fill.words.end(), where.begin(), where.end());
  fill.words.insert(fill.words.end(), value.begin(), value.end());
  const std::vector<i64> words{2, 3000, 1001, 1001, 1, 1024, 1};
  const auto host = make_host_tools(*device_);
  const auto doubles = device_->allocate(3000 * 1001 * 8, "doubles");
  host->fill_random(doubles->address(), DType::f64, 3000 * 1001, {kUniform, 100.0, 3});
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64}) {
    const std::size_t bytes = 3000 * 1024 * size_of(type);
    const auto a = device_->allocate(bytes, "a"), b = device_->allocate(bytes, "b");
    for (const auto& buffer : {a.get(), b.get()}) device_->fill(buffer->address(), 0, bytes);
    EXPECT_EQ(device_->tools().fill_by_program(a->address(), type, fill),
              host->fill_by_program(b->address(), type, fill));
    EXPECT_EQ(read<std::byte>(*a, bytes), read<std::byte>(*b, bytes)) << name(type);
    device_->tools().round_elements(a->address(), type, doubles->address(), words, 3000 * 1001);
    host->round_elements(b->address(), type, doubles->address(), words, 3000 * 1001);
    EXPECT_EQ(read<std::byte>(*a, bytes), read<std::byte>(*b, bytes)) << name(type);
  }
}

// In its own process, since it loses its context.
using GpuRunDeathTest = GpuRun;
TEST_F(GpuRunDeathTest, an_illegal_address_is_a_device_error) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const auto executable = SmallOp(1000).load(*device_);
        try {
          executable->run({{0x10, 0x20, 0}, {}});
        } catch (const DeviceError& error) {
          std::fprintf(stderr, "%s", error.what());
          std::exit(42);
        }
      },
      ::testing::ExitedWithCode(42), "running plain.threads=64. on scale.*CUDA_ERROR_ILLEGAL_ADDRESS");
}

}  // namespace
}  // namespace tilewright
