// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv is POSIX

#include <string>
#include <vector>

#include "tuner/app/work.hpp"

int main(int argc, char** argv) {
  ::setenv("TILEWRIGHT_KERNELS_DIR", TILEWRIGHT_TEST_KERNELS, 0);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty()) {
    if (const auto served = tilewright::app::serve_as_worker(words)) return *served ? 0 : 1;
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
