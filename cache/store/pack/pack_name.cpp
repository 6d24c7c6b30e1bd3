// SPDX-License-Identifier: Apache-2.0
#include "cache/store/pack/pack_name.hpp"

#include <algorithm>

#include "cache/base/sha256.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHashDigits = 64;

}  // namespace

bool is_pack(const fs::path& file) { return file.extension() == kPackSuffix; }

std::string hash_in_name(const fs::path& pack) {
  const std::string stem = pack.stem().string();
  if (stem.size() < kHashDigits) return {};
  std::string digits = stem.substr(stem.size() - kHashDigits);
  return is_hexadecimal(digits, kHashDigits) ? digits : std::string();
}

std::string first_word(const std::string& name) { return name.substr(0, name.find('-')); }

std::string part_in_name(const fs::path& pack) {
  std::string name = pack.stem().string();
  name.resize(name.size() - std::min(name.size(), kHashDigits + 1));
  while (true) {
    const std::size_t end = name.find_last_not_of("0123456789");
    if (end == std::string::npos || end + 1 == name.size() || name[end] != '-') return name;
    name.resize(end);
  }
}

}  // namespace tilewright
