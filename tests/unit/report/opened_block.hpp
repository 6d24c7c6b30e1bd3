// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zlib.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "tuner/report/block.hpp"

namespace tilewright::report_tests {

/// A block of the page's data, decoded as the page's script does.
class OpenedBlock {
 public:
  explicit OpenedBlock(const std::string& compressed) {
    std::string whole(std::size_t{1} << 22, '\0');
    uLongf size = whole.size();
    // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast)
    const int failed = uncompress(reinterpret_cast<Bytef*>(whole.data()), &size,
                                  reinterpret_cast<const Bytef*>(compressed.data()), compressed.size());
    // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
    if (failed != Z_OK) throw std::runtime_error("this is no compressed block");
    std::uint32_t length = 0;
    std::memcpy(&length, whole.data(), sizeof length);
    json = PageJson::parse(whole.substr(sizeof length, length));
    columns_ = whole.substr(sizeof length + length, size - sizeof length - length);
  }

  [[nodiscard]] std::vector<double> numbers(const PageJson& column) const {
    const std::string type = column["type"];
    if (type == "u8") return numbers_of<std::uint8_t>(column);
    if (type == "u16") return numbers_of<std::uint16_t>(column);
    if (type == "u32") return numbers_of<std::uint32_t>(column);
    return numbers_of<float>(column);
  }

  PageJson json;

 private:
  template <class Value>
  [[nodiscard]] std::vector<double> numbers_of(const PageJson& column) const {
    const std::size_t count = column["count"];
    if (column.contains("same")) return std::vector<double>(count, column["same"].get<double>());
    std::vector<double> numbers;
    for (std::size_t i = 0; i < count; ++i) {
      char bytes[sizeof(Value)];
      for (std::size_t plane = 0; plane < sizeof(Value); ++plane) {
        bytes[plane] = columns_.at(column["at"].get<std::size_t>() + plane * count + i);
      }
      Value value{};
      std::memcpy(&value, bytes, sizeof value);
      numbers.push_back(static_cast<double>(value));
    }
    return numbers;
  }

  std::string columns_;
};

}  // namespace tilewright::report_tests
