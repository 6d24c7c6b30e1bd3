// SPDX-License-Identifier: Apache-2.0
#include "tuner/device/fenced_memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

TEST(FencedMemory, is_aligned_and_zero_at_first_whatever_its_size) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{255}, std::size_t{4096}, std::size_t{100'001}}) {
    const FencedMemory memory(bytes, "a test");
    EXPECT_EQ(memory.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.begin()) % FencedMemory::kAlignment, 0u);
    for (std::size_t i = 0; i < bytes; i += 97) ASSERT_EQ(memory.begin()[i], std::byte{0});
  }
}

TEST(FencedMemory, keeps_its_content_when_moved) {
  FencedMemory first(100, "a test");
  first.begin()[99] = std::byte{42};
  const FencedMemory second = std::move(first);
  EXPECT_EQ(second.begin()[99], std::byte{42});
}

TEST(FencedMemoryDeathTest, writing_far_outside_ends_the_process) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        const FencedMemory memory(1000, "a test");
        static_cast<volatile std::byte*>(memory.begin())[1024] = std::byte{1};
      },
      "");
  EXPECT_DEATH(
      {
        const FencedMemory memory(1000, "a test");
        static_cast<volatile std::byte*>(memory.begin())[-4096] = std::byte{1};
      },
      "");
}

TEST(FencedMemory, says_what_it_was_for_when_there_is_not_enough) {
  for (const std::size_t bytes :
       {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() / 4}) {
    try {
      const FencedMemory memory(bytes, "tensor y");
      FAIL() << bytes;
    } catch (const DeviceError& error) {
      EXPECT_NE(std::string(error.what()).find("for tensor y failed"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tilewright
