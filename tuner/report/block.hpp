// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/report/table.hpp"

/// A part of a page's data that is read when a view first asks for it: JSON, and the numbers of long columns behind it,
/// compressed for a browser's DecompressionStream("deflate"). tuner/report/page/data.js reads it.
namespace tilewright {

using PageJson = nlohmann::ordered_json;

/// Before compression: the length of the JSON in four bytes, the JSON, the columns. All numbers are little-endian. A
/// column has the first bytes of its numbers, then the second bytes, and so on, which compresses better.
class Block {
 public:
  /// Adds a column; in the JSON it is `{"type": "u8", "at": 0, "count": 3}`, in the narrowest of u8, u16 and u32, or
  /// `{"type": "u8", "same": 7, "count": 3}` if all numbers are equal.
  [[nodiscard]] PageJson put(const std::vector<std::uint32_t>& numbers);
  /// The same as f32: seven digits are more than a picture or a hover shows.
  [[nodiscard]] PageJson put(const std::vector<float>& numbers);
  /// An array of `{"name", "heading", "unit", …cells}`. Cells that are all equal are `"same"`; texts are `"texts"`,
  /// each once, and `"index"`; numbers are `"numbers"`, NaN if unknown; others are `"values"`.
  [[nodiscard]] PageJson put(const Table& table);

  [[nodiscard]] std::string compressed(const PageJson& json) const;

 private:
  template <class Value>
  PageJson put_column(const char* type, const std::vector<Value>& values);
  PageJson put_numbers(const std::vector<PageJson>& cells);
  void put_texts(PageJson& column, const std::vector<PageJson>& cells);

  std::string columns_;
};

}  // namespace tilewright
