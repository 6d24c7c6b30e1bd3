// SPDX-License-Identifier: Apache-2.0
// A shared library that tells where it lies.
#include <string>

#include "cache/base/own_file.hpp"

extern "C" __attribute__((visibility("default"))) const char* file_of_probe() {
  static const std::string kFile = tilewright::own_file().string();
  return kFile.c_str();
}
