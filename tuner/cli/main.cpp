// SPDX-License-Identifier: Apache-2.0
#include "cache/version.hpp"

#include <cstdio>

int main() {
  std::printf("tilewright %s\n", tilewright::version());
  return 0;
}
