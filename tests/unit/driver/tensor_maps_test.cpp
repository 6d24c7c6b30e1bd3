// SPDX-License-Identifier: Apache-2.0
#include "cache/driver/tensor_maps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "cache/base/error.hpp"
#include "tests/launch/recording_driver/recording.hpp"

namespace tilewright::cuda {
namespace {

using tilewright::testing::Recording;

constexpr Address kFirst = 0x7f0000000000;

PlannedMap matrix() {
  PlannedMap map;
  map.name = "a";
  map.type = DType::f16;
  map.dims = {256, 1024};
  map.strides = {512};
  map.box = {64, 32};
  map.swizzle = 128;
  return map;
}

class TensorMapsTest : public ::testing::Test {
 protected:
  TensorMapsTest() : driver_(Driver::get()) { recording_.reset(); }

  [[nodiscard]] std::size_t encoded() const { return recording_.calls("cuTensorMapEncodeTiled"); }
  [[nodiscard]] std::size_t replaced() const { return recording_.calls("cuTensorMapReplaceAddress"); }
  static void expect_map_of(Address address, const TensorMap& map) {
    EXPECT_EQ(map.words[0], address);
    EXPECT_EQ(map.words[15], address);
    EXPECT_EQ(map.words[1], (std::uint64_t{6} << 32 | 3U << 8 | 2U)) << "fp16, 128-byte swizzle, rank 2";
    EXPECT_EQ(map.words[2], 256U);
    EXPECT_EQ(map.words[8], 32U);
    EXPECT_EQ(map.words[12], 512U);
  }

  const Recording& recording_ = Recording::get();
  const Driver& driver_;
};

TEST_F(TensorMapsTest, of_tf32_have_its_type_and_not_that_of_fp32) {
  constexpr std::uint64_t kFp32 = 7, kTf32 = 11;  // CUtensorMapDataType
  PlannedMap planned = matrix();
  planned.type = DType::f32;
  for (const bool tf32 : {false, true}) {
    planned.tf32 = tf32;
    TensorMaps maps(driver_, planned);
    TensorMap map{};
    ASSERT_EQ(maps.get(kFirst, map), kSuccess);
    EXPECT_EQ(map.words[1] >> 32, tf32 ? kTf32 : kFp32);
  }
}

TEST_F(TensorMapsTest, encode_once_and_put_in_a_new_address_once) {
  TensorMaps maps(driver_, matrix());
  EXPECT_EQ(encoded(), 1U);
  EXPECT_EQ(replaced(), 0U);
  for (int launch = 0; launch < 10; ++launch) {
    TensorMap map{};
    ASSERT_EQ(maps.get(kFirst, map), kSuccess);
    expect_map_of(kFirst, map);
  }
  EXPECT_EQ(encoded(), 1U);
  EXPECT_EQ(replaced(), 1U);
  TensorMap map{};
  ASSERT_EQ(maps.get(kFirst + 256, map), kSuccess);
  expect_map_of(kFirst + 256, map);
  EXPECT_EQ(encoded(), 1U);
  EXPECT_EQ(replaced(), 2U);
}

/// A map of three dims whose strides come with the call.
PlannedMap strided() {
  PlannedMap map = matrix();
  map.dims = {64, 8, 100};
  map.strides = {128, 1024};
  map.box = {32, 1, 32};
  map.swizzle = 64;
  map.stride_scalars = {1, 2};
  return map;
}

TEST_F(TensorMapsTest, are_kept_by_address_and_strides_where_these_come_with_the_call) {
  TensorMaps maps(driver_, strided());
  EXPECT_EQ(encoded(), 1U);
  const auto expect_right = [&](Address address, const TensorMaps::Shape& strides) {
    TensorMap map{};
    ASSERT_EQ(maps.get(address, strides, map), kSuccess);
    EXPECT_EQ(map.words[0], address);
    EXPECT_EQ(map.words[12], strides[0]);
    EXPECT_EQ(map.words[13], strides[1]);
    EXPECT_EQ(map.words[1], (std::uint64_t{6} << 32 | 2U << 8 | 3U)) << "fp16, 64-byte swizzle, rank 3";
  };
  for (int turn = 0; turn < 5; ++turn) {
    expect_right(kFirst, {128, 1024});
    expect_right(kFirst, {12800, 128});
    expect_right(kFirst, {128, 2048});
    expect_right(kFirst + 256, {128, 1024});
  }
  EXPECT_EQ(encoded(), 1U + 4U) << "each once";
  EXPECT_EQ(replaced(), 0U);
}

TEST_F(TensorMapsTest, have_up_to_five_dims_each_with_its_extent_box_and_stride) {
  PlannedMap planned = matrix();
  planned.dims = {64, 3, 5, 7, 9};
  planned.strides = {128, 384, 1920, 13440};
  planned.box = {64, 1, 2, 1, 3};
  for (std::uint64_t rank = 5; rank >= 1; --rank) {
    planned.dims.resize(rank);
    planned.box.resize(rank);
    planned.strides.resize(rank - 1);
    TensorMaps maps(driver_, planned);
    TensorMap map{};
    ASSERT_EQ(maps.get(kFirst, map), kSuccess);
    EXPECT_EQ(map.words[1] & 0xff, rank);
    for (std::size_t i = 0; i < rank; ++i) {
      EXPECT_EQ(map.words[2 + i], planned.dims[i]);
      EXPECT_EQ(map.words[7 + i], planned.box[i]);
      // The recording driver has no room for the last of four strides.
      if (i + 1 < std::min<std::size_t>(rank, 4)) {
        EXPECT_EQ(map.words[12 + i], planned.strides[i]);
      }
    }
  }
}

TEST_F(TensorMapsTest, have_the_extent_of_the_call_where_its_dim_is_bucketed) {
  PlannedMap planned = strided();
  planned.call_extent = PlannedMap::CallExtent{.of_map = 2, .of_call = 1};
  TensorMaps maps(driver_, planned);
  for (int turn = 0; turn < 5; ++turn) {
    for (const std::uint64_t extent : {70U, 71U, 100U}) {
      TensorMap map{};
      ASSERT_EQ(maps.get(kFirst, {128, 1024, 0, 0, extent}, map), kSuccess);
      EXPECT_EQ(map.words[4], extent);
      EXPECT_EQ(map.words[13], 1024U);
    }
  }
  EXPECT_EQ(encoded(), 1U + 3U) << "each once";
}

TEST_F(TensorMapsTest, with_strides_are_bounded_and_use_most_of_the_room) {
  TensorMaps maps(driver_, strided());
  TensorMap map{};
  for (int turn = 0; turn < 2; ++turn) {
    if (turn == 1) recording_.reset();
    for (std::uint64_t i = 1; i <= TensorMaps::kMost / 2; ++i) {
      ASSERT_EQ(maps.get(kFirst, {128, 1024 * i}, map), kSuccess);
      EXPECT_EQ(map.words[13], 1024 * i);
    }
  }
  EXPECT_LE(encoded(), TensorMaps::kMost / 4);
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    ASSERT_EQ(maps.get(kFirst, {128, 16 * i}, map), kSuccess);
    ASSERT_EQ(map.words[13], 16 * i);
  }
}

TEST_F(TensorMapsTest, with_strides_that_the_driver_does_not_take_fail_and_are_not_kept) {
  TensorMaps maps(driver_, strided());
  TensorMap map{};
  EXPECT_NE(maps.get(kFirst, {120, 1024}, map), kSuccess) << "no multiple of 16";
  EXPECT_NE(maps.get(kFirst, {120, 1024}, map), kSuccess);
  EXPECT_NE(maps.get(kFirst, {128, std::uint64_t{1} << 41}, map), kSuccess);
  EXPECT_EQ(maps.get(kFirst, {128, 1024}, map), kSuccess);
}

TEST_F(TensorMapsTest, of_a_few_addresses_in_turn_are_all_kept) {
  TensorMaps maps(driver_, matrix());
  TensorMap map{};
  for (int turn = 0; turn < 5; ++turn) {
    for (Address i = 0; i < TensorMaps::kWays; ++i) {
      ASSERT_EQ(maps.get(kFirst + (i << 20), map), kSuccess);
      expect_map_of(kFirst + (i << 20), map);
    }
  }
  EXPECT_EQ(replaced(), TensorMaps::kWays);
}

TEST_F(TensorMapsTest, are_bounded_and_right_beyond_the_bound) {
  TensorMaps maps(driver_, matrix());
  TensorMap map{};
  constexpr Address kAddresses = 50 * TensorMaps::kMost;
  for (Address i = 0; i < kAddresses; ++i) {
    ASSERT_EQ(maps.get(kFirst + 256 * i, map), kSuccess);
    expect_map_of(kFirst + 256 * i, map);
  }
  EXPECT_EQ(replaced(), kAddresses);
  // The newest is kept, and as many others as there is room for.
  ASSERT_EQ(maps.get(kFirst + 256 * (kAddresses - 1), map), kSuccess);
  EXPECT_EQ(replaced(), kAddresses);
  for (Address i = 0; i < kAddresses; ++i) ASSERT_EQ(maps.get(kFirst + 256 * i, map), kSuccess);
  EXPECT_GE(replaced(), 2 * kAddresses - TensorMaps::kMost);
  EXPECT_EQ(encoded(), 1U);
}

TEST_F(TensorMapsTest, of_addresses_in_a_row_use_most_of_the_room) {
  TensorMaps maps(driver_, matrix());
  TensorMap map{};
  for (const Address step : {16U, 256U, 4096U, 1U << 20}) {
    const auto place = [&](Address i) { return kFirst + (Address{1} << 40) + step * (1 + i); };
    for (int turn = 0; turn < 2; ++turn) {
      if (turn == 1) recording_.reset();
      for (Address i = 0; i < TensorMaps::kMost / 2; ++i) ASSERT_EQ(maps.get(place(i), map), kSuccess);
    }
    EXPECT_LE(replaced(), TensorMaps::kMost / 8) << "at a step of " << step;
  }
}

TEST_F(TensorMapsTest, of_an_address_that_the_driver_refuses_are_refused_each_time) {
  TensorMaps maps(driver_, matrix());
  TensorMap map{};
  for (int launch = 0; launch < 2; ++launch) EXPECT_EQ(maps.get(kFirst + 8, map), 1);
  ASSERT_EQ(maps.get(kFirst, map), kSuccess);
  expect_map_of(kFirst, map);
}

TEST_F(TensorMapsTest, that_the_driver_does_not_encode_say_which) {
  recording_.fail("cuTensorMapEncodeTiled", 1);
  try {
    const TensorMaps maps(driver_, matrix());
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("encoding the tensor map 'a'"));
  }
}

TEST_F(TensorMapsTest, are_whole_for_many_threads_that_push_each_others_out) {
  recording_.set_fast(true);
  TensorMaps maps(driver_, matrix());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (Address thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&maps, &wrong, thread] {
      TensorMap map{};
      for (Address i = 0; i < 20'000; ++i) {
        // Half of the addresses are shared, half are new.
        const Address address = kFirst + 256 * (i % 2 == 0 ? i % 128 : 1000 + i * 4 + thread);
        const bool is_right = maps.get(address, map) == kSuccess && map.words[0] == address &&
                              map.words[15] == address && map.words[8] == 32;
        if (!is_right) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  recording_.set_fast(false);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tilewright::cuda
