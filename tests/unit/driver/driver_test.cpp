// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "cache/driver/cuda.hpp"
#include "cache/driver/driver_table.hpp"
#include "tests/launch/recording_driver/recording.hpp"

namespace tilewright::cuda {
namespace {

using ::testing::HasSubstr;
using tilewright::testing::Recording;

class DriverTest : public ::testing::Test {
 protected:
  DriverTest() { recording_.reset(); }
  const Recording& recording_ = Recording::get();
};

/// Prints what a fresh process finds as its driver; for death tests.
[[noreturn]] void print_what_is_found(const char* variable, const char* value) {
  ::setenv(variable, value, 1);
  std::string why = "found";
  const Driver* driver = Driver::find(&why);
  if (driver != nullptr) why = "found with " + std::to_string(driver->device_count()) + " devices";
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(0);
}

class DriverDeathTest : public ::testing::Test {
 protected:
  DriverDeathTest() {
    // In its own process, since the result is remembered.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    Recording::get();
  }
};

TEST_F(DriverTest, reads_the_facts_of_a_device) {
  const DeviceFacts facts = Driver::get().facts(0);
  EXPECT_EQ(facts.name, "Fictional GPU");
  EXPECT_EQ(facts.compute_capability, 90);
  EXPECT_EQ(facts.sm_count, 132);
  EXPECT_EQ(facts.memory_bytes, std::int64_t{140} << 30);
  EXPECT_EQ(facts.memory_bus_bits, 6144);
  EXPECT_EQ(facts.l2_bytes, 62914560);
  EXPECT_EQ(facts.shared_per_block_optin, 232448);
  EXPECT_EQ(facts.shared_per_sm, 233472);
  EXPECT_EQ(facts.registers_per_sm, 65536);
  EXPECT_EQ(facts.max_threads_per_sm, 2048);
  EXPECT_EQ(facts.max_threads_per_block, 1024);
}

TEST_F(DriverTest, writes_the_uuid_as_nvidia_smi_does) {
  EXPECT_EQ(Driver::get().uuid(0), "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
}

TEST_F(DriverTest, names_the_devices_there_are_when_asked_for_another) {
  try {
    static_cast<void>(Driver::get().facts(3));
    FAIL() << "cuda:3 was found";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no GPU cuda:3: the driver sees 1"));
  }
  EXPECT_THROW(static_cast<void>(Driver::get().uuid(-1)), UsageError);
}

TEST_F(DriverTest, says_what_was_being_done_by_which_call_and_why_it_failed) {
  recording_.fail("cuDeviceGetAttribute", 999);
  try {
    static_cast<void>(Driver::get().facts(0));
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(),
                 "reading the GPU's facts failed: cuDeviceGetAttribute: CUDA_ERROR_UNKNOWN (999): recorded words");
    EXPECT_EQ(error.status(), 999);
  }
}

TEST_F(DriverTest, describes_an_error_that_the_driver_does_not_know) {
  EXPECT_THAT(Driver::get().describe(12345), HasSubstr("12345"));
}

TEST_F(DriverTest, is_the_same_for_every_caller) {
  EXPECT_EQ(Driver::find(), &Driver::get());
  EXPECT_EQ(Driver::get().path(), Recording::path());
  EXPECT_EQ(Driver::get().version(), 13000);
}

TEST_F(DriverDeathTest, says_which_file_was_not_found) {
  EXPECT_EXIT(print_what_is_found("TILEWRIGHT_LIBCUDA", "/nonexistent/libcuda.so.1"), ::testing::ExitedWithCode(0),
              "the CUDA driver was not found: /nonexistent/libcuda.so.1: .*named by TILEWRIGHT_LIBCUDA");
}

TEST_F(DriverDeathTest, looks_for_the_installed_driver_when_none_is_named) {
  EXPECT_EXIT(print_what_is_found("TILEWRIGHT_LIBCUDA", ""), ::testing::ExitedWithCode(0), "found");
}

TEST_F(DriverDeathTest, refuses_a_library_that_is_no_driver) {
  EXPECT_EXIT(print_what_is_found("TILEWRIGHT_LIBCUDA", "libm.so.6"), ::testing::ExitedWithCode(0),
              "libm.so.6 is too old or is not one: it lacks cuInit");
}

TEST_F(DriverDeathTest, says_why_the_driver_does_not_start) {
  EXPECT_EXIT(print_what_is_found("TILEWRIGHT_RECORDING_FAIL", "cuInit:999"), ::testing::ExitedWithCode(0),
              "does not start: cuInit: CUDA_ERROR_UNKNOWN");
}

TEST_F(DriverDeathTest, counts_no_device_on_a_machine_without_one) {
  EXPECT_EXIT(print_what_is_found("TILEWRIGHT_RECORDING_DEVICES", "0"), ::testing::ExitedWithCode(0),
              "found with 0 devices");
}

}  // namespace
}  // namespace tilewright::cuda
