// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/packed.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace tilewright {
namespace {

static_assert(std::endian::native == std::endian::little, "columns are written as they lie in memory");

template <class Value>
PageJson as_bytes(const char* type, const std::vector<Value>& values) {
  return {{"type", type}, {"data", base64(std::as_bytes(std::span(values)))}};
}

template <class Narrow>
std::vector<Narrow> narrowed(const std::vector<std::uint32_t>& numbers) {
  std::vector<Narrow> narrow;
  narrow.reserve(numbers.size());
  for (const std::uint32_t number : numbers) narrow.push_back(static_cast<Narrow>(number));
  return narrow;
}

std::string unit_name(Unit unit) {
  switch (unit) {
    case Unit::nanoseconds:
      return "nanoseconds";
    case Unit::bytes:
      return "bytes";
    case Unit::rate:
      return "rate";
    case Unit::share:
      return "share";
    case Unit::ratio:
      return "ratio";
    case Unit::count:
      return "count";
    case Unit::none:
      break;
  }
  return "none";
}

struct CellJson {
  PageJson operator()(std::monostate) const { return nullptr; }
  template <class Value>
  PageJson operator()(const Value& value) const {
    return value;
  }
};

void put_texts(PageJson& column, const std::vector<PageJson>& cells) {
  std::unordered_map<std::string, std::size_t> places;
  PageJson texts = PageJson::array();
  PageJson index = PageJson::array();
  for (const PageJson& cell : cells) {
    const std::string text = cell.is_null() ? "" : cell.get<std::string>();
    const auto [place, is_new] = places.try_emplace(text, texts.size());
    if (is_new) texts.push_back(cell);
    index.push_back(place->second);
  }
  column["texts"] = std::move(texts);
  column["index"] = std::move(index);
}

}  // namespace

std::string base64(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t taken = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8U | (i < taken ? std::to_integer<std::uint32_t>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) text += i <= taken ? kDigits[bits >> (18U - 6U * i) & 63U] : '=';
  }
  return text;
}

PageJson packed(const std::vector<std::uint32_t>& numbers) {
  const std::uint32_t most = numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
  if (most <= 0xFFU) return as_bytes("u8", narrowed<std::uint8_t>(numbers));
  if (most <= 0xFFFFU) return as_bytes("u16", narrowed<std::uint16_t>(numbers));
  return as_bytes("u32", numbers);
}

PageJson packed(const std::vector<float>& numbers) { return as_bytes("f32", numbers); }

PageJson columns_of(const Table& table) {
  PageJson columns = PageJson::array();
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    PageJson json{{"name", column.name}, {"heading", column.heading}, {"unit", unit_name(column.unit)}};
    std::vector<PageJson> cells;
    cells.reserve(table.rows.size());
    bool has_text = false;
    for (const auto& row : table.rows) {
      has_text = has_text || std::holds_alternative<std::string>(row[i]);
      cells.push_back(std::visit(CellJson{}, row[i]));
    }
    if (cells.empty() || std::all_of(cells.begin(), cells.end(), [&](const auto& cell) { return cell == cells[0]; })) {
      json["same"] = cells.empty() ? PageJson(nullptr) : cells.front();
    } else if (has_text) {
      put_texts(json, cells);
    } else {
      json["values"] = cells;
    }
    columns.push_back(std::move(json));
  }
  return columns;
}

}  // namespace tilewright
