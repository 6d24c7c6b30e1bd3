// SPDX-License-Identifier: Apache-2.0
#include "cache/model/device_name.hpp"

#include <gtest/gtest.h>

namespace tilewright::device_name_test {
namespace {

TEST(DeviceName, of_a_gpu_has_its_number) {
  EXPECT_EQ(gpu_index("cuda:0"), 0);
  EXPECT_EQ(gpu_index("cuda:17"), 17);
}

TEST(DeviceName, of_no_gpu_is_told_apart) {
  for (const char* name : {"", "cpu", "auto", "cuda", "cuda:", "cuda:-1", "cuda:x", "cuda:1x", "cuda: 1", "CUDA:0", "0",
                           "cuda:99999999999"}) {
    EXPECT_EQ(gpu_index(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace tilewright::device_name_test
