// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "cache/driver/cuda.hpp"
#include "cache/driver/driver_table.hpp"
#include "tests/launch/recording_driver/recording.hpp"

namespace tilewright::cuda {
namespace {

using ::testing::HasSubstr;
using tilewright::testing::Recording;

class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() : driver_(Driver::get()) { recording_.reset(); }
  const Recording& recording_ = Recording::get();
  const Driver& driver_;
};

TEST_F(MemoryTest, a_context_is_current_once_made_and_gone_with_its_owner) {
  {
    const PrimaryContext context(driver_, 0);
    Context current = nullptr;
    ASSERT_EQ(driver_.table().ctx_get_current(&current), kSuccess);
    EXPECT_EQ(current, context.get());
    EXPECT_EQ(context.device(), 0);
    context.synchronize();
  }
  Context current = nullptr;
  ASSERT_EQ(driver_.table().ctx_get_current(&current), kSuccess);
  EXPECT_EQ(current, nullptr);
}

TEST_F(MemoryTest, a_context_that_cannot_be_had_names_its_device) {
  recording_.fail("cuDevicePrimaryCtxRetain", 2);
  try {
    const PrimaryContext context(driver_, 0);
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("opening the context of cuda:0 failed: cuDevicePrimaryCtxRetain: "
                                        "CUDA_ERROR_OUT_OF_MEMORY"));
  }
}

TEST_F(MemoryTest, a_kernel_that_crashed_is_reported_by_synchronizing) {
  const PrimaryContext context(driver_, 0);
  recording_.fail("cuCtxSynchronize", 700);
  try {
    context.synchronize();
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.status(), 700);
  }
}

TEST_F(MemoryTest, a_buffer_holds_what_is_copied_to_it_and_is_freed_with_it) {
  const PrimaryContext context(driver_, 0);
  const std::size_t before = recording_.live_allocations();
  {
    const Buffer buffer(driver_, 12, "a test");
    Buffer shared = buffer;
    EXPECT_EQ(buffer.bytes(), 12U);
    EXPECT_TRUE(buffer);
    const std::array<int, 3> sent{1, 2, 3};
    std::array<int, 3> got{};
    driver_.call("copying", driver_.table().memcpy_htod, buffer.address(), static_cast<const void*>(sent.data()),
                 sizeof sent);
    driver_.call("copying", driver_.table().memcpy_dtoh, static_cast<void*>(got.data()), shared.address(), sizeof got);
    EXPECT_EQ(got, sent);
    EXPECT_EQ(recording_.live_allocations(), before + 1);
  }
  EXPECT_EQ(recording_.live_allocations(), before);
  EXPECT_FALSE(Buffer());
}

TEST_F(MemoryTest, a_buffer_of_nothing_still_has_an_address) {
  const PrimaryContext context(driver_, 0);
  const Buffer buffer(driver_, 0, "a test");
  EXPECT_NE(buffer.address(), 0U);
  EXPECT_EQ(buffer.bytes(), 0U);
}

TEST_F(MemoryTest, running_out_of_memory_tells_how_much_was_asked_for_what_and_what_is_free) {
  const PrimaryContext context(driver_, 0);
  recording_.fail("cuMemAlloc_v2", 2);
  try {
    const Buffer buffer(driver_, 4096, "the input x");
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("allocating 4096 bytes of device memory for the input x (107374182400 of "
                                        "150323855360 are free) failed: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY"));
  }
}

}  // namespace
}  // namespace tilewright::cuda
