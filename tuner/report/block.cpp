// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/block.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <unordered_map>

#include "tuner/report/render.hpp"

namespace tilewright {
namespace {

static_assert(std::endian::native == std::endian::little, "columns are written as they lie in memory");

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

bool all_equal(const auto& values) {
  return std::all_of(values.begin(), values.end(), [&](const auto& value) { return value == values.front(); });
}

bool is_small_count(const PageJson& cell) {
  if (!cell.is_number_integer()) return false;
  const auto number = cell.get<std::int64_t>();
  return number >= 0 && number <= std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

template <class Value>
PageJson Block::put_column(const char* type, const std::vector<Value>& values) {
  if (!values.empty() && all_equal(values)) {
    return {{"type", type}, {"same", values.front()}, {"count", values.size()}};
  }
  const std::size_t at = columns_.size(), count = values.size();
  columns_.resize(at + count * sizeof(Value));
  for (std::size_t i = 0; i < count; ++i) {
    char bytes[sizeof(Value)];
    std::memcpy(bytes, &values[i], sizeof(Value));
    for (std::size_t plane = 0; plane < sizeof(Value); ++plane) columns_[at + plane * count + i] = bytes[plane];
  }
  return {{"type", type}, {"at", at}, {"count", count}};
}

PageJson Block::put(const std::vector<std::uint32_t>& numbers) {
  const std::uint32_t most = numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
  if (most <= 0xFFU) return put_column("u8", narrowed<std::uint8_t>(numbers));
  if (most <= 0xFFFFU) return put_column("u16", narrowed<std::uint16_t>(numbers));
  return put_column("u32", numbers);
}

PageJson Block::put(const std::vector<float>& numbers) { return put_column("f32", numbers); }

void Block::put_texts(PageJson& column, const std::vector<PageJson>& cells) {
  std::unordered_map<std::string, std::uint32_t> places;
  PageJson texts = PageJson::array();
  std::vector<std::uint32_t> index;
  for (const PageJson& cell : cells) {
    const std::string text = cell.is_null() ? "" : cell.get<std::string>();
    const auto [place, is_new] = places.try_emplace(text, static_cast<std::uint32_t>(texts.size()));
    if (is_new) texts.push_back(cell);
    index.push_back(place->second);
  }
  column["texts"] = std::move(texts);
  column["index"] = put(index);
}

PageJson Block::put_numbers(const std::vector<PageJson>& cells) {
  if (std::all_of(cells.begin(), cells.end(), is_small_count)) {
    std::vector<std::uint32_t> numbers;
    for (const PageJson& cell : cells) numbers.push_back(cell.get<std::uint32_t>());
    return put(numbers);
  }
  std::vector<float> numbers;
  for (const PageJson& cell : cells) {
    numbers.push_back(cell.is_null() ? std::numeric_limits<float>::quiet_NaN() : cell.get<float>());
  }
  return put(numbers);
}

PageJson Block::put(const Table& table) {
  PageJson columns = PageJson::array();
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    PageJson json{{"name", column.name}, {"heading", column.heading}, {"unit", unit_name(column.unit)}};
    std::vector<PageJson> cells;
    cells.reserve(table.rows.size());
    for (const auto& row : table.rows) cells.push_back(json_of(row[i]));
    const auto any = [&](auto is) { return std::any_of(cells.begin(), cells.end(), is); };
    if (cells.empty() || all_equal(cells)) {
      json["same"] = cells.empty() ? PageJson(nullptr) : cells.front();
    } else if (any([](const PageJson& cell) { return cell.is_string(); })) {
      put_texts(json, cells);
    } else if (any([](const PageJson& cell) { return cell.is_boolean(); })) {
      json["values"] = cells;
    } else {
      json["numbers"] = put_numbers(cells);
    }
    columns.push_back(std::move(json));
  }
  return columns;
}

std::string Block::compressed(const PageJson& json) const {
  const std::string text = json.dump(-1, ' ', false, PageJson::error_handler_t::replace);
  const auto length = static_cast<std::uint32_t>(text.size());
  std::string whole(sizeof length, '\0');
  std::memcpy(whole.data(), &length, sizeof length);
  whole.append(text).append(columns_);
  uLongf size = compressBound(whole.size());
  std::string small(size, '\0');
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast)
  const int failed = compress2(reinterpret_cast<Bytef*>(small.data()), &size,
                               reinterpret_cast<const Bytef*>(whole.data()), whole.size(), Z_DEFAULT_COMPRESSION);
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
  if (failed != Z_OK) throw std::runtime_error("no memory to compress the data of the page");
  small.resize(size);
  return small;
}

}  // namespace tilewright
