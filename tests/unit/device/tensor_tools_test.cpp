// SPDX-License-Identifier: Apache-2.0
#include "tuner/device/tensor_tools.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tuner/device/cpu_device.hpp"

namespace tilewright {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32,
                            DType::i64, DType::u32, DType::u64,  DType::u8};
// More than one piece of the host's work and more than one block's share of the kernels', with a remainder.
constexpr std::int64_t kCount = 70'001;

class Tools : public ::testing::Test {
 protected:
  template <class T>
  std::vector<T> read(const DeviceBuffer& buffer, std::size_t count) {
    std::vector<T> values(count);
    device_->download(std::as_writable_bytes(std::span<T>(values)), buffer.address());
    return values;
  }
  std::unique_ptr<DeviceBuffer> make(std::size_t bytes) {
    auto buffer = device_->allocate(bytes, "test");
    device_->fill(buffer->address(), 0, bytes);
    return buffer;
  }
  std::unique_ptr<Device> device_ = open_cpu_device();
};

TEST_F(Tools, on_the_host_fill_element_by_element_and_nothing_beyond) {
  for (const DType type : kTypes) {
    const std::size_t bytes = kCount * size_of(type);
    const auto buffer = make(bytes + 8);
    const RandomFill fill{utility::kNormal, 20.0, 7};
    device_->tools().fill_random(buffer->address(), type, kCount, fill);
    const auto content = read<std::byte>(*buffer, bytes + 8);
    for (const std::int64_t i : {std::int64_t{0}, std::int64_t{65'535}, std::int64_t{65'536}, kCount - 1}) {
      std::uint64_t expected = 0, stored = 0;
      utility::write_element(&expected, utility_type(type), 0, fill.value(i));
      std::memcpy(&stored, content.data() + static_cast<std::size_t>(i) * size_of(type), size_of(type));
      EXPECT_EQ(stored, expected) << name(type) << " " << i;
    }
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(content[bytes + i], std::byte{0}) << name(type);
  }
}

TEST_F(Tools, on_the_host_widen_every_type_exactly) {
  for (const DType type : kTypes) {
    const auto from = make(kCount * size_of(type)), to = make(kCount * sizeof(double));
    device_->tools().fill_random(from->address(), type, kCount, {utility::kUniform, 100.0, 3});
    device_->tools().widen(to->address(), from->address(), type, kCount);
    const auto narrow = read<std::byte>(*from, kCount * size_of(type));
    const auto wide = read<double>(*to, kCount);
    for (std::int64_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(wide[static_cast<std::size_t>(i)], utility::read_element(narrow.data(), utility_type(type), i));
    }
  }
}

TEST_F(Tools, on_the_host_compare_finds_the_one_wrong_element) {
  const auto values = make(kCount * sizeof(float)), reference = make(kCount * sizeof(double));
  TensorTools& tools = device_->tools();
  tools.fill_random(values->address(), DType::f32, kCount, {});
  tools.widen(reference->address(), values->address(), DType::f32, kCount);
  const utility::Bounds exact{0.0, 0.0, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(tools.compare(values->address(), DType::f32, reference->address(), kCount, exact).wrong, 0u);
  const float changed = 1000.0f;
  device_->upload(values->address() + 4 * 66'000, std::as_bytes(std::span(&changed, 1)));
  const auto difference = tools.compare(values->address(), DType::f32, reference->address(), kCount, exact);
  EXPECT_EQ(difference.wrong, 1u);
  EXPECT_EQ(difference.first_wrong, 66'000u);
  EXPECT_NEAR(difference.max_absolute, 1000, 6);
}

TEST_F(Tools, on_the_host_poison_gaps_and_no_row) {
  const auto buffer = make(100);
  device_->tools().poison_gaps(buffer->address(), {4, 5, 8, {}}, 1);
  const auto content = read<std::uint8_t>(*buffer, 100);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(content[i], i < 24 && i % 8 >= 5 ? 0xff : 0) << i;
  device_->tools().poison_gaps(buffer->address() + 32, {4, 8, 8, {}}, 1);
  device_->tools().poison_gaps(buffer->address() + 32, {1, 4, 8, {}}, 1);
  EXPECT_EQ(read<std::uint8_t>(*buffer, 100), content);
}

TEST_F(Tools, on_the_host_tallies_notice_one_changed_byte_and_count_poison) {
  const auto buffer = make(800'000);
  device_->tools().fill_random(buffer->address(), DType::u64, 100'000, {utility::kUniform, 1e6, 1});
  const auto before = device_->tools().tally_words(buffer->address(), 100'000);
  EXPECT_EQ(before.poison, 0u);
  device_->fill(buffer->address() + 777'777, 0xaa, 1);
  EXPECT_NE(device_->tools().tally_words(buffer->address(), 100'000).sum, before.sum);
  device_->fill(buffer->address() + 8, 0xff, 16);
  EXPECT_EQ(device_->tools().tally_words(buffer->address(), 100'000).poison, 2u);
}

// The GPU's kernels on the emulator: one test, so that they are compiled once.
TEST_F(Tools, by_kernels_compute_what_the_host_computes) {
  const auto kernels = make_kernel_tools(*device_);
  TensorTools& host = device_->tools();
  for (const DType type : kTypes) {
    const std::size_t bytes = (kCount * size_of(type) + 7) / 8 * 8;
    const auto a = make(bytes), b = make(bytes), wide_a = make(kCount * 8), wide_b = make(kCount * 8);
    for (const RandomFill& fill : {RandomFill{utility::kNormal, 50.0, 9}, RandomFill{utility::kUniform, 50.0, 11}}) {
      kernels->fill_random(a->address(), type, kCount, fill);
      host.fill_random(b->address(), type, kCount, fill);
      ASSERT_EQ(read<std::byte>(*a, bytes), read<std::byte>(*b, bytes)) << name(type);
    }
    kernels->widen(wide_a->address(), a->address(), type, kCount);
    host.widen(wide_b->address(), b->address(), type, kCount);
    ASSERT_EQ(read<double>(*wide_a, kCount), read<double>(*wide_b, kCount)) << name(type);

    const auto words = static_cast<std::int64_t>(bytes / 8);
    EXPECT_EQ(kernels->tally_words(a->address(), words).sum, host.tally_words(a->address(), words).sum);

    const Gaps gaps{5, 3, 7, {{2, 500}, {3, 40}}};
    const auto size = static_cast<std::int64_t>(size_of(type));
    kernels->poison_gaps(a->address(), gaps, size);
    host.poison_gaps(b->address(), gaps, size);
    ASSERT_EQ(read<std::byte>(*a, bytes), read<std::byte>(*b, bytes)) << name(type);
    kernels->fill_gaps(wide_a->address(), gaps, 8, 0x7ff8000000000a9aU);
    host.fill_gaps(wide_b->address(), gaps, 8, 0x7ff8000000000a9aU);
    ASSERT_EQ(read<std::uint64_t>(*wide_a, kCount), read<std::uint64_t>(*wide_b, kCount)) << name(type);
    EXPECT_EQ(read<std::uint64_t>(*wide_a, kCount)[543], 0x7ff8000000000a9aU);

    // Data that differ from the reference, some of them poison.
    host.fill_random(b->address(), type, kCount, {utility::kNormal, 50.0, 10});
    device_->fill(b->address() + 24, 0xff, 16);
    device_->fill(wide_a->address() + 800, 0xff, 80);
    const utility::Bounds bounds{1.0, 0.5, std::numeric_limits<double>::infinity()};
    const auto by_kernel = kernels->compare(b->address(), type, wide_a->address(), kCount, bounds);
    const auto by_host = host.compare(b->address(), type, wide_a->address(), kCount, bounds);
    EXPECT_EQ(by_kernel.wrong, by_host.wrong) << name(type);
    EXPECT_GT(by_kernel.wrong, 0u);
    EXPECT_EQ(by_kernel.unwritten, by_host.unwritten) << name(type);
    EXPECT_EQ(by_kernel.stray, by_host.stray) << name(type);
    EXPECT_EQ(by_kernel.stray, 10U) << name(type);
    EXPECT_EQ(by_kernel.first_wrong, by_host.first_wrong) << name(type);
    const utility::Bounds some{1.0, 0.5, std::numeric_limits<double>::infinity(), true};
    const auto sampled = kernels->compare(b->address(), type, wide_a->address(), kCount, some);
    EXPECT_EQ(sampled.wrong, host.compare(b->address(), type, wide_a->address(), kCount, some).wrong) << name(type);
    EXPECT_EQ(sampled.wrong + 10, by_kernel.wrong) << name(type);
    EXPECT_EQ(by_kernel.max_absolute, by_host.max_absolute) << name(type);
    EXPECT_EQ(by_kernel.max_relative, by_host.max_relative) << name(type);
    EXPECT_NEAR(by_kernel.error_squares / by_host.error_squares, 1, 1e-12) << name(type);
    EXPECT_NEAR(by_kernel.reference_squares / by_host.reference_squares, 1, 1e-12) << name(type);
  }
}

// The odd columns of 300 × 45 elements in rows of 60: half of row / (column - without).
ProgramFill odd_columns(std::int64_t without) {
  using namespace utility;
  return {{2, 300,        45, 60,          1, 13,              //
           3, kPushIndex, 1,  kPushNumber, 2, kRemainder,  0,  //
           5, kPushIndex, 0,  kPushIndex,  1, kPushNumber, without, kSubtract, 0, kDivide, 0},
          300 * 45,
          0.5};
}

TEST_F(Tools, by_kernels_fill_and_round_by_indices_as_the_host_does) {
  const auto kernels = make_kernel_tools(*device_);
  TensorTools& host = device_->tools();
  constexpr std::int64_t kElements = 300 * 60;
  for (const DType type : kTypes) {
    const std::size_t bytes = kElements * size_of(type);
    const auto a = make(bytes), b = make(bytes), doubles = make(kElements * 8);
    EXPECT_EQ(kernels->fill_by_program(a->address(), type, odd_columns(-1)), std::nullopt) << name(type);
    EXPECT_EQ(host.fill_by_program(b->address(), type, odd_columns(-1)), std::nullopt) << name(type);
    ASSERT_EQ(read<std::byte>(*a, bytes), read<std::byte>(*b, bytes)) << name(type);
    const auto content = read<std::byte>(*a, bytes);
    const double scale = unit_roundoff(type) > 0 ? 0.5 : 1.0;
    for (std::int64_t i = 0; i < kElements; ++i) {
      const std::int64_t row = i / 60, column = i % 60;
      const double value = column % 2 == 1 && column < 45 ? scale * static_cast<double>(row / (column + 1)) : 0.0;
      ASSERT_EQ(utility::read_element(content.data(), utility_type(type), i), value) << name(type) << " " << i;
    }
    // Row 0 divides zero by zero in column 7, which is element 7.
    EXPECT_EQ(kernels->fill_by_program(a->address(), type, odd_columns(7)), 7) << name(type);
    EXPECT_EQ(host.fill_by_program(b->address(), type, odd_columns(7)), 7) << name(type);

    host.fill_random(doubles->address(), DType::f64, kElements, {utility::kUniform, 100.0, 3});
    const std::vector<utility::i64> words{2, 300, 45, 45, 1, 60, 1};
    kernels->round_elements(a->address(), type, doubles->address(), words, 300 * 45);
    host.round_elements(b->address(), type, doubles->address(), words, 300 * 45);
    const auto rounded = read<std::byte>(*a, bytes), wide = read<std::byte>(*doubles, kElements * 8);
    ASSERT_EQ(rounded, read<std::byte>(*b, bytes)) << name(type);
    const double value = utility::read_element(wide.data(), utility::kF64, 17 * 45 + 44);
    std::uint64_t expected = 0;
    utility::write_element(&expected, utility_type(type), 0, static_cast<float>(value));
    if (type == DType::f64) std::memcpy(&expected, &value, 8);
    EXPECT_EQ(std::memcmp(&expected, rounded.data() + (17 * 60 + 44) * size_of(type), size_of(type)), 0) << name(type);
  }
}

TEST_F(Tools, by_kernels_serve_tensors_of_one_element) {
  const auto kernels = make_kernel_tools(*device_);
  kernels->poison_gaps(0, {1, 4, 8, {}}, 1);
  const auto value = make(8), reference = make(8);
  kernels->fill_random(value->address(), DType::f32, 1, {utility::kUniform, 1.0, 5});
  kernels->widen(reference->address(), value->address(), DType::f32, 1);
  const utility::Bounds exact{0.0, 0.0, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(kernels->compare(value->address(), DType::f32, reference->address(), 1, exact).wrong, 0u);
  EXPECT_EQ(read<float>(*value, 1)[0], (RandomFill{utility::kUniform, 1.0, 5}.value(0)));
}

}  // namespace
}  // namespace tilewright
