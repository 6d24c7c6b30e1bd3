// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tuner/device/device.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

std::string error_of(const char* name) {
  try {
    (void)open_device(name);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class OpenDevice : public ::testing::Test {
 protected:
  // A missing driver, whatever this machine has.
  void SetUp() override { ::setenv("TILEWRIGHT_LIBCUDA", "/nowhere/libcuda.so.1", 1); }
};

TEST_F(OpenDevice, cpu_is_the_emulator) { EXPECT_EQ(open_device("cpu")->name(), "cpu"); }

TEST_F(OpenDevice, auto_without_a_driver_is_the_emulator_and_says_why) {
  std::string said;
  EXPECT_EQ(open_device("auto", &said)->name(), "cpu");
  EXPECT_THAT(said, HasSubstr("device: cpu (the emulator), since"));
  EXPECT_THAT(said, HasSubstr("/nowhere/libcuda.so.1"));
}

TEST_F(OpenDevice, a_gpu_that_is_asked_for_and_not_there_is_an_error_that_says_what_to_do) {
  EXPECT_THROW((void)open_device("cuda"), DeviceError);
  EXPECT_THROW((void)open_device("cuda:1"), DeviceError);
  EXPECT_THAT(error_of("cuda:0"), HasSubstr("--device cpu"));
}

TEST_F(OpenDevice, other_words_are_refused_with_the_nearest_right_one) {
  EXPECT_THROW((void)open_device("cude"), UsageError);
  EXPECT_THAT(error_of("cude"), HasSubstr("did you mean 'cuda'"));
  EXPECT_THAT(error_of("cuda:x"), HasSubstr("the GPU's number"));
  EXPECT_THAT(error_of("cuda:-1"), HasSubstr("the GPU's number"));
  EXPECT_THAT(error_of("cuda:"), HasSubstr("the GPU's number"));
  EXPECT_THAT(error_of(""), HasSubstr("is not a device"));
}

}  // namespace
}  // namespace tilewright
