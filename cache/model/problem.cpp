// SPDX-License-Identifier: Apache-2.0
#include "cache/model/problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "cache/base/dtype.hpp"
#include "cache/base/error.hpp"
#include "cache/model/domain.hpp"
#include "cache/model/key_reader.hpp"

namespace tilewright {
namespace {

constexpr std::string_view kShapeKey = "shape key";

struct DimReading {
  std::int64_t value = 0;
  /// Empty if the value is valid.
  std::string mistake;
};

DimReading read_dim(std::string_view name, std::string_view text) {
  if (text.empty()) return {0, fmt::format("dim '{}' has no value; write {}=1024", name, name)};
  const bool negative = text.front() == '-';
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return {0, fmt::format("dim '{}' is '{}', which is not a whole number", name, text)};
  }
  if (negative) return {0, fmt::format("dim '{}' is {}; dims are at least 1", name, text)};
  std::int64_t value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc()) {
    return {0, fmt::format("dim '{}' is {}, beyond the largest dim, {}", name, text,
                           std::numeric_limits<std::int64_t>::max())};
  }
  if (value < 1) return {0, fmt::format("dim '{}' is {}; dims are at least 1", name, text)};
  return {value, {}};
}

std::vector<std::string> names_of(const std::vector<Attribute>& attributes) {
  std::vector<std::string> names{std::string(kDTypeWord)};
  for (const Attribute& attribute : attributes) names.push_back(attribute.name);
  return names;
}

DType read_dtype(const KeyReader& reader, const KeyReader::Pair& pair, const OpInterface& interface) {
  std::vector<std::string> known;
  for (const DType type : interface.dtypes) {
    if (name(type) == pair.value) return type;
    known.emplace_back(name(type));
  }
  const bool exists = dtype_from(pair.value).has_value();
  reader.fail(pair.value_at,
              exists ? fmt::format("{} does not take dtype '{}'", interface.op, pair.value)
                     : fmt::format("unknown dtype '{}'", pair.value),
              // If the type exists, the nearest spelling is no help.
              exists ? fmt::format("; it takes {}", fmt::join(known, ", ")) : suggestion(pair.value, known));
}

void read_attribute(const KeyReader& reader, const KeyReader::Pair& pair, const OpInterface& interface, OpSpec& spec) {
  for (std::size_t i = 0; i < interface.attributes.size(); ++i) {
    const Attribute& attribute = interface.attributes[i];
    if (attribute.name != pair.name) continue;
    if (std::find(attribute.values.begin(), attribute.values.end(), pair.value) == attribute.values.end()) {
      reader.fail(pair.value_at, fmt::format("unknown value '{}' of attribute '{}'", pair.value, pair.name),
                  suggestion(pair.value, attribute.values));
    }
    spec.attributes[i].second = pair.value;
    return;
  }
  reader.fail(pair.name_at, fmt::format("{} has no attribute '{}'", interface.op, pair.name),
              suggestion(pair.name, names_of(interface.attributes)));
}

OpSpec read_spec(KeyReader& reader, const OpInterface& interface) {
  if (reader.word("the name of an op") != interface.op) {
    reader.fail(0, fmt::format("this is not the op '{}'", interface.op));
  }
  OpSpec spec;
  spec.op = interface.op;
  if (interface.dtypes.empty()) reader.fail(0, fmt::format("the op '{}' has no dtypes", interface.op));
  spec.dtype = interface.dtypes.front();
  for (const Attribute& attribute : interface.attributes) {
    if (attribute.values.empty()) reader.fail(0, fmt::format("attribute '{}' has no values", attribute.name));
    spec.attributes.emplace_back(attribute.name, attribute.values.front());
  }
  for (const KeyReader::Pair& pair : reader.pairs('[', ']')) {
    if (pair.name == kDTypeWord) {
      spec.dtype = read_dtype(reader, pair, interface);
    } else {
      read_attribute(reader, pair, interface, spec);
    }
  }
  return spec;
}

}  // namespace

std::string OpSpec::text() const {
  std::string text = fmt::format("{}[{}={}", op, kDTypeWord, name(dtype));
  for (const auto& [attribute, value] : attributes) text += fmt::format(",{}={}", attribute, value);
  return text + "]";
}

const std::string* OpSpec::attribute(std::string_view name) const noexcept {
  for (const auto& [attribute, value] : attributes) {
    if (attribute == name) return &value;
  }
  return nullptr;
}

std::string Problem::key() const {
  std::string text = spec.text() + "{";
  for (const auto& [dim, value] : dims) {
    if (text.back() != '{') text += ',';
    text += fmt::format("{}={}", dim, value);
  }
  return text + "}";
}

std::vector<std::int64_t> shape_of(const Problem& problem) {
  std::vector<std::int64_t> shape;
  for (const auto& dim : problem.dims) shape.push_back(dim.second);
  return shape;
}

std::int64_t Problem::dim(std::string_view name) const {
  std::vector<std::string> known;
  for (const auto& [dim, value] : dims) {
    if (dim == name) return value;
    known.push_back(dim);
  }
  throw UsageError(fmt::format("{} has no dim '{}'{}", spec.op, name, suggestion(std::string(name), known)));
}

std::string op_name_of(std::string_view text) { return KeyReader("op", text).word("the name of an op"); }

OpSpec parse_spec(std::string_view text, const OpInterface& interface) {
  KeyReader reader("op", text);
  OpSpec spec = read_spec(reader, interface);
  if (reader.next_is('{')) reader.fail(reader.offset(), "an op is written without dims; end it before '{'");
  reader.end();
  return spec;
}

Problem parse_problem(std::string_view text, const OpInterface& interface) {
  KeyReader reader(kShapeKey, text);
  Problem problem{read_spec(reader, interface), {}};
  if (!reader.next_is('{')) {
    reader.fail(reader.offset(), "expected the dims",
                fmt::format("; write {{{}=1024}}", fmt::join(interface.dims, "=1024,")));
  }
  for (const std::string& dim : interface.dims) problem.dims.emplace_back(dim, 0);
  for (const KeyReader::Pair& pair : reader.pairs('{', '}')) {
    const auto place =
        std::find_if(problem.dims.begin(), problem.dims.end(), [&](const auto& dim) { return dim.first == pair.name; });
    if (place == problem.dims.end()) {
      reader.fail(pair.name_at, fmt::format("{} has no dim '{}'", interface.op, pair.name),
                  suggestion(pair.name, interface.dims));
    }
    const DimReading reading = read_dim(pair.name, pair.value);
    if (!reading.mistake.empty()) reader.fail(pair.value_at, reading.mistake);
    place->second = reading.value;
  }
  for (const auto& [dim, value] : problem.dims) {
    if (value == 0) {
      reader.fail(reader.offset() - 1, fmt::format("dim '{}' is missing", dim),
                  fmt::format("; {} takes {}", interface.op, fmt::join(interface.dims, ", ")));
    }
  }
  reader.end();
  for (std::size_t i = 0; i < problem.dims.size(); ++i) {
    problem.dims[i].second = interface.planned_extent(i, problem.dims[i].second);
  }
  require_domain(problem, interface);
  return problem;
}

Problem make_problem(const OpSpec& spec, const OpInterface& interface, std::span<const std::int64_t> dims) {
  if (dims.size() != interface.dims.size()) {
    throw UsageError(fmt::format("{} takes {} dims ({}), not {}", interface.op, interface.dims.size(),
                                 fmt::join(interface.dims, ", "), dims.size()));
  }
  Problem problem{spec, {}};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 1) {
      throw UsageError(fmt::format("dim '{}' is {}; dims are at least 1", interface.dims[i], dims[i]));
    }
    problem.dims.emplace_back(interface.dims[i], interface.planned_extent(i, dims[i]));
  }
  require_domain(problem, interface);
  return problem;
}

std::int64_t parse_dim(std::string_view name, std::string_view text) {
  DimReading reading = read_dim(name, text);
  if (!reading.mistake.empty()) throw UsageError(reading.mistake);
  return reading.value;
}

std::optional<Value> ProblemScope::find(std::string_view name) const {
  for (const auto& [dim, value] : problem_.dims) {
    if (dim == name) return value;
  }
  if (name == kDTypeWord) return tilewright::name(problem_.spec.dtype);
  if (const std::string* const value = problem_.spec.attribute(name)) return *value;
  return std::nullopt;
}

std::vector<std::string> ProblemScope::names() const {
  std::vector<std::string> names;
  for (const auto& [dim, value] : problem_.dims) names.push_back(dim);
  names.emplace_back(kDTypeWord);
  for (const auto& [attribute, value] : problem_.spec.attributes) names.push_back(attribute);
  return names;
}

}  // namespace tilewright
