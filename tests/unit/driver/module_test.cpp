// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/driver/cuda.hpp"
#include "cache/driver/driver_table.hpp"
#include "tests/launch/recording_driver/recording.hpp"
#include "tests/launch/sample_op.hpp"

namespace tilewright::cuda {
namespace {

using ::testing::HasSubstr;
using tilewright::testing::recorded_binary;
using tilewright::testing::Recording;

class ModuleTest : public ::testing::Test {
 protected:
  ModuleTest() : driver_(Driver::get()), context_(driver_, 0) { recording_.reset(); }
  const Recording& recording_ = Recording::get();
  const Driver& driver_;
  PrimaryContext context_;
};

TEST_F(ModuleTest, finds_its_kernels_and_is_unloaded_once) {
  {
    const Module module(driver_, recorded_binary("one 8\ntwo 8\n"), "a test");
    const Module copy = module;
    EXPECT_NE(module.function("one", 0, false), module.function("two", 0, false));
    EXPECT_EQ(module.function("one", 0, false), copy.function("one", 0, false));
  }
  EXPECT_EQ(recording_.calls("cuLibraryUnload"), 1U);
}

TEST_F(ModuleTest, names_the_kernels_there_are_when_asked_for_another) {
  const Module module(driver_, recorded_binary("one 8\ntwo 8\n"), "a test");
  try {
    static_cast<void>(module.function("three", 0, false));
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("finding the kernel 'three' in a test (it has: one, two) failed: "
                                        "cuLibraryGetKernel: CUDA_ERROR_NOT_FOUND"));
  }
}

TEST_F(ModuleTest, reports_a_binary_that_the_driver_rejects_when_it_looks_at_it) {
  const Module module(driver_, std::as_bytes(std::span("no code at all")), "softmax's onchip{}");
  try {
    static_cast<void>(module.function("one", 0, false));
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("finding the kernel 'one' in softmax's onchip{} failed: cuLibraryGetKernel: "
                                        "CUDA_ERROR_INVALID_IMAGE"));
    EXPECT_EQ(error.status(), 200);
  }
}

TEST_F(ModuleTest, reports_a_binary_that_the_driver_rejects_at_once) {
  recording_.fail("cuLibraryLoadData", 200);
  try {
    const Module module(driver_, recorded_binary("one 8\n"), "softmax's onchip{}");
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("loading softmax's onchip{} (28 bytes) failed: cuLibraryLoadData: "
                                        "CUDA_ERROR_INVALID_IMAGE"));
  }
  EXPECT_THROW(Module(driver_, {}, "nothing"), DeviceError);
}

TEST_F(ModuleTest, asks_for_shared_memory_only_beyond_what_every_kernel_has) {
  const Module module(driver_, recorded_binary("one 8\n"), "a test");
  static_cast<void>(module.function("one", 48 * 1024, false));
  EXPECT_EQ(recording_.calls("cuFuncSetAttribute"), 0U);
  static_cast<void>(module.function("one", 48 * 1024 + 1, false));
  EXPECT_EQ(recording_.calls("cuFuncSetAttribute"), 1U);
  static_cast<void>(module.function("one", 0, true));
  EXPECT_EQ(recording_.calls("cuFuncSetAttribute"), 2U);
}

TEST_F(ModuleTest, keeps_the_shared_memory_of_one_shape_when_another_needs_less) {
  const Module module(driver_, recorded_binary("one 8\n"), "a test");
  const auto launch = [&](Function function, unsigned shared_bytes) {
    const LaunchConfig config{1, 1, 1, 32, 1, 1, shared_bytes, nullptr, nullptr, 0};
    Address value = 0;
    void* params[] = {&value};
    return driver_.table().launch_kernel_ex(&config, function, params, nullptr);
  };
  const Function large = module.function("one", 96 * 1024, false);
  const Module copy = module;
  ASSERT_EQ(copy.function("one", 80 * 1024, false), large) << "two plans share it";
  EXPECT_EQ(launch(large, 96 * 1024), kSuccess);
  static_cast<void>(copy.function("one", 112 * 1024, false));
  EXPECT_EQ(launch(large, 112 * 1024), kSuccess);

  recording_.reset_context(0);
  const PrimaryContext again(driver_, 0);
  const Function other = module.function("one", 80 * 1024, false);
  EXPECT_EQ(launch(other, 80 * 1024), kSuccess) << "another context's function has a limit of its own";
  EXPECT_NE(launch(other, 96 * 1024), kSuccess);
}

TEST_F(ModuleTest, reports_more_shared_memory_than_the_device_has) {
  const Module module(driver_, recorded_binary("one 8\n"), "a test");
  try {
    static_cast<void>(module.function("one", 300000, false));
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("giving the kernel 'one' 300000 bytes of shared memory failed"));
  }
}

TEST_F(ModuleTest, needs_a_current_context_for_a_function) {
  const Module module(driver_, recorded_binary("one 8\n"), "a test");
  ASSERT_EQ(driver_.table().ctx_set_current(nullptr), kSuccess);
  EXPECT_THROW(static_cast<void>(module.function("one", 0, false)), DeviceError);
}

}  // namespace
}  // namespace tilewright::cuda
