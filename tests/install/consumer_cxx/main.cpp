// SPDX-License-Identifier: Apache-2.0
// A C++ program against the installed package: a missing cache is an exception that names it.
#include <tilewright/tilewright.h>
#include <tilewright/launch.hpp>

#include <exception>
#include <iostream>
#include <string>

int main() {
  if (std::string(tw_version()) != EXPECTED_VERSION) {
    std::cerr << "the version is " << tw_version() << ", expected is " EXPECTED_VERSION "\n";
    return 1;
  }
  try {
    tilewright::Launcher launcher("/nonexistent/cache.db");
  } catch (const std::exception& error) {
    if (std::string(error.what()).find("/nonexistent/cache.db") != std::string::npos) return 0;
    std::cerr << "the error does not name the file: " << error.what() << "\n";
    return 1;
  }
  std::cerr << "a cache that is not there was opened\n";
  return 1;
}
