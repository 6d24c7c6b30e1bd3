// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/temporary_folder.hpp"

/// Conversions of a fuzz target's input.
namespace tilewright::fuzz {

[[nodiscard]] inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A file that each input overwrites.
class InputFile {
 public:
  explicit InputFile(const std::string& name) : path_(folder_.path() / name) {}

  void write(std::string_view bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  test::TemporaryFolder folder_;
  std::filesystem::path path_;
};

/// A valid file, changed by the input: of each five bytes four are a place and the fifth the new byte there. A shorter
/// rest is a place at which the file is truncated.
[[nodiscard]] inline std::string damaged(std::string file, const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kPlace = 4;
  const auto place_of = [&](std::size_t at, std::size_t bytes) {
    std::uint32_t place = 0;
    for (std::size_t i = 0; i < bytes; ++i) place = place << 8 | data[at + i];
    return place % file.size();
  };
  std::size_t at = 0;
  for (; at + kPlace < size; at += kPlace + 1) file[place_of(at, kPlace)] = static_cast<char>(data[at + kPlace]);
  if (at < size) file.resize(place_of(at, size - at));
  return file;
}

[[nodiscard]] inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace tilewright::fuzz
