// SPDX-License-Identifier: Apache-2.0
#include "cache/base/own_file.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>
#include <string_view>

namespace tilewright {

// Not dladdr(): its name may be relative to the working folder at load time.
std::filesystem::path own_file() {
  const auto own = reinterpret_cast<std::uintptr_t>(&own_file);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    // "7f21a0-7f21b0 r-xp 00001000 fe:01 1234    /usr/lib/libtilewright.so"
    std::istringstream range(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    range >> std::hex >> begin >> dash >> end;
    if (own < begin || own >= end) continue;
    std::string name = line.substr(std::min(line.find('/'), line.size()));
    constexpr std::string_view kNewline = "\\012";
    for (auto at = name.find(kNewline); at != std::string::npos; at = name.find(kNewline, at + 1)) {
      name.replace(at, kNewline.size(), 1, '\n');
    }
    return name;
  }
  return {};
}

}  // namespace tilewright
