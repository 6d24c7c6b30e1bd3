// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tuner/device/cuda_device.hpp"

/// Opens the first GPU, or skips the test and says what is missing.
namespace tilewright::testing {

class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!has_cuda_device(&why)) GTEST_SKIP() << "needs a GPU: " << why;
    device_ = open_cuda_device(0);
  }
  std::unique_ptr<Device> device_;
};

}  // namespace tilewright::testing
