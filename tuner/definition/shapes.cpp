// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/shapes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <set>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

constexpr std::size_t kMostValues = 100'000;
constexpr std::size_t kMostProblems = 1'000'000;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::vector<std::string_view> found;
  for (std::size_t begin = text.find_first_not_of(kSpace); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kSpace, begin), text.size());
    found.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kSpace, end);
  }
  return found;
}

/// A parsed "256..32768x2". No value exceeds `end`.
struct Range {
  std::int64_t begin = 1;
  std::int64_t end = 1;
  std::int64_t step = 1;
  bool geometric = false;

  /// The value after `value`, or nullopt past the end. Does not overflow.
  [[nodiscard]] std::optional<std::int64_t> after(std::int64_t value) const {
    if (geometric) return value > end / step ? std::nullopt : std::optional(value * step);
    return value > end - step ? std::nullopt : std::optional(value + step);
  }
};

Range parse_steps(std::string_view dim, std::string_view text, std::size_t dots) {
  const std::string_view rest = text.substr(dots + 2);
  const std::size_t sign = rest.find_first_of("x+");
  if (sign == std::string_view::npos) {
    throw UsageError(fmt::format(
        "{}={}: a range needs a step, as in 256..4096x2 (doubling) or 256..1024+256 (adding 256)", dim, text));
  }
  Range range;
  range.geometric = rest[sign] == 'x';
  range.begin = parse_dim(dim, trimmed(text.substr(0, dots)));
  range.end = parse_dim(dim, trimmed(rest.substr(0, sign)));
  range.step = parse_dim(dim, trimmed(rest.substr(sign + 1)));
  if (range.end < range.begin) throw UsageError(fmt::format("{}={}: the range ends before it starts", dim, text));
  if (range.geometric && range.step < 2) {
    throw UsageError(fmt::format("{}={}: a factor of 1 never reaches the end; use x2 or more", dim, text));
  }
  return range;
}

void append_range(std::string_view dim, std::string_view text, std::vector<std::int64_t>& values) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    values.push_back(parse_dim(dim, text));
    return;
  }
  const Range range = parse_steps(dim, text, dots);
  for (std::optional<std::int64_t> value = range.begin; value; value = range.after(*value)) {
    if (values.size() == kMostValues) {
      throw UsageError(fmt::format("{}={}: more than {} values; use a wider step", dim, text, kMostValues));
    }
    values.push_back(*value);
  }
}

void drop_doubles(std::vector<std::int64_t>& values) {
  std::set<std::int64_t> seen;
  std::erase_if(values, [&](std::int64_t value) { return !seen.insert(value).second; });
}

std::size_t dim_index(std::string_view name, const OpInterface& interface) {
  const auto found = std::ranges::find(interface.dims, name);
  if (found == interface.dims.end()) {
    const std::string wanted(name);
    throw UsageError(fmt::format("{} has no dim '{}'{}", interface.op, wanted, suggestion(wanted, interface.dims)));
  }
  return static_cast<std::size_t>(found - interface.dims.begin());
}

std::vector<Problem> combinations(std::vector<std::vector<std::int64_t>> values, const OpSpec& spec,
                                  const OpInterface& interface) {
  for (std::size_t d = 0; d < values.size(); ++d) {
    for (std::int64_t& extent : values[d]) extent = interface.planned_extent(d, extent);
    drop_doubles(values[d]);
  }
  std::size_t total = 1;
  for (const auto& of_dim : values) {
    total *= of_dim.size();  // at most 1e5 times 1e6
    if (total > kMostProblems) {
      throw UsageError(fmt::format("more than {} shapes of {}: use shorter lists", kMostProblems, interface.op));
    }
  }
  std::vector<Problem> problems;
  problems.reserve(total);
  std::vector<std::int64_t> dims(values.size());
  for (std::size_t i = 0; i < total; ++i) {
    std::size_t rest = i;
    for (std::size_t d = values.size(); d-- > 0; rest /= values[d].size()) dims[d] = values[d][rest % values[d].size()];
    problems.push_back(make_problem(spec, interface, dims));
  }
  return problems;
}

/// The dim of each column.
std::vector<std::size_t> read_header(std::string_view line, const OpInterface& interface) {
  std::vector<std::size_t> columns;
  for (const std::string_view name : split(line, ',')) {
    const std::size_t dim = dim_index(name, interface);
    if (std::ranges::find(columns, dim) != columns.end()) {
      throw UsageError(fmt::format("dim '{}' appears twice", name));
    }
    columns.push_back(dim);
  }
  for (std::size_t dim = 0; dim < interface.dims.size(); ++dim) {
    if (std::ranges::find(columns, dim) == columns.end()) {
      throw UsageError(fmt::format("no column for dim '{}'", interface.dims[dim]));
    }
  }
  return columns;
}

Problem read_row(std::string_view line, const std::vector<std::size_t>& columns, const OpSpec& spec,
                 const OpInterface& interface) {
  const std::vector<std::string_view> cells = split(line, ',');
  if (cells.size() != columns.size()) {
    throw UsageError(fmt::format("the line has {} values for {} columns", cells.size(), columns.size()));
  }
  std::vector<std::int64_t> dims(columns.size());
  for (std::size_t i = 0; i < cells.size(); ++i) dims[columns[i]] = parse_dim(interface.dims[columns[i]], cells[i]);
  return make_problem(spec, interface, dims);
}

}  // namespace

std::vector<std::int64_t> parse_range(std::string_view dim, std::string_view text) {
  std::vector<std::int64_t> values;
  for (const std::string_view part : split(text, ',')) {
    if (part.empty()) {
      throw UsageError(
          fmt::format("{}={}: a value is missing; write numbers and ranges with commas between, such as "
                      "{}=1,7,256..1024x2",
                      dim, text, dim));
    }
    append_range(dim, part, values);
  }
  drop_doubles(values);
  return values;
}

std::vector<Problem> parse_shapes(std::string_view text, const OpSpec& spec, const OpInterface& interface) {
  std::vector<std::vector<std::int64_t>> values(interface.dims.size());
  for (const std::string_view word : words(text)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      throw UsageError(
          fmt::format("'{}' is not a shape: write DIM=VALUES, such as {}=1024,4096", word, interface.dims.front()));
    }
    std::vector<std::int64_t>& of_dim = values[dim_index(word.substr(0, equals), interface)];
    if (!of_dim.empty()) throw UsageError(fmt::format("dim '{}' appears twice", word.substr(0, equals)));
    of_dim = parse_range(word.substr(0, equals), word.substr(equals + 1));
  }
  for (std::size_t dim = 0; dim < values.size(); ++dim) {
    if (!values[dim].empty()) continue;
    throw UsageError(fmt::format("no values for dim '{}' of {}: add {}=VALUES", interface.dims[dim], interface.op,
                                 interface.dims[dim]));
  }
  return combinations(std::move(values), spec, interface);
}

std::vector<Problem> read_shapes_csv(const std::filesystem::path& file, const OpSpec& spec,
                                     const OpInterface& interface) {
  std::ifstream stream(file);
  if (!stream)
    throw UsageError(fmt::format("cannot read shapes from {}: no such file, or not readable", file.string()));
  std::vector<std::size_t> columns;
  std::vector<Problem> problems;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::string_view row = line;
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // written by spreadsheets
    if (number == 1 && row.starts_with(kByteOrderMark)) row.remove_prefix(kByteOrderMark.size());
    if (trimmed(row).empty()) continue;
    try {
      if (columns.empty()) {
        columns = read_header(row, interface);
      } else {
        problems.push_back(read_row(row, columns, spec, interface));
      }
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}:{}: {}", file.string(), number, error.what()));
    }
  }
  if (problems.empty()) {
    throw UsageError(fmt::format("{}: no shapes; the first line names the dims ({}), each further line is one shape",
                                 file.string(), fmt::join(interface.dims, ",")));
  }
  return problems;
}

std::vector<Problem> default_shapes(const OpDefinition& definition, const OpSpec& spec, bool emulator) {
  std::vector<std::vector<std::int64_t>> values;
  // The loader ensures that both grids have all dims in the op's order.
  for (const auto& [dim, text] : emulator ? definition.emulator_grid : definition.grid) {
    values.push_back(parse_range(dim, text));
  }
  return combinations(std::move(values), spec, definition.interface);
}

}  // namespace tilewright
