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

/// What fuzz targets make of their input.
namespace tilewright::fuzz {

[[nodiscard]] inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A file that is written anew for each input.
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

/// A file that is right, changed as the input says: each five bytes are a place, of four, and the byte that stands
/// there from now on; a last piece of fewer bytes cuts the file off at the place that they make.
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
