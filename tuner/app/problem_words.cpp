// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/problem_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"

namespace tilewright::app {
namespace {

void add_word(ProblemWords& words, const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
    throw UsageError(
        fmt::format("'{}' is not NAME=VALUE; dims, attributes and dtype are given as in "
                    "`rows=8 cols=100 dtype=f32`",
                    word));
  }
  words.named.emplace_back(word.substr(0, equals), word.substr(equals + 1));
}

/// Splits at commas. A part without a name belongs to the list of values before it: rows=1,2,cols=3.
std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> parts;
  for (const std::string& part : split_list(text)) {
    if (parts.empty() || part.find('=') != std::string::npos) {
      parts.push_back(part);
    } else {
      parts.back() += "," + part;
    }
  }
  return parts;
}

/// The text between `open` and `close` of "softmax[…]{…}"; empty if there is none.
std::string between(const std::string& text, char open, char close) {
  const std::size_t start = text.find(open);
  if (start == std::string::npos) return "";
  const std::size_t end = text.find(close, start);
  if (end == std::string::npos) throw UsageError(fmt::format("'{}' has an unclosed '{}'", text, open));
  return text.substr(start + 1, end - start - 1);
}

void require_one_value(const std::string& name, const std::string& value) {
  if (split_list(value).size() == 1) return;
  throw UsageError(fmt::format("{} takes one value here, and was given {}", name, value));
}

/// The words on a problem, checked.
struct Said {
  std::vector<DType> dtypes;
  std::vector<std::pair<std::string, std::vector<std::string>>> attributes;
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> dims;
};

Said check(const ProblemWords& words, const OpInterface& interface) {
  Said said;
  std::set<std::string> names;
  for (const auto& [name, values] : words.named) {
    const NameKind kind = kind_of_name(name, interface);
    if (!names.insert(name).second) throw UsageError(fmt::format("'{}' is given twice", name));
    const std::vector<std::string> each = split_list(values);
    if (kind == NameKind::dim) {
      said.dims.emplace_back(name, std::vector<std::int64_t>());
      for (const std::string& value : each) said.dims.back().second.push_back(parse_dim(name, value));
      continue;
    }
    // Throws for a value that the op does not have; an untuned value passes.
    for (const std::string& value : each) {
      const OpSpec spec = parse_spec(fmt::format("{}[{}={}]", interface.op, name, value), interface);
      if (kind == NameKind::dtype) said.dtypes.push_back(spec.dtype);
    }
    if (kind == NameKind::attribute) said.attributes.emplace_back(name, each);
  }
  return said;
}

std::string spec_text(const ProblemWords& words, const OpInterface& interface) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : words.named) {
    if (kind_of_name(name, interface) == NameKind::dim) continue;
    require_one_value(name, value);
    parts.push_back(fmt::format("{}={}", name, value));
  }
  return parts.empty() ? words.op : fmt::format("{}[{}]", words.op, fmt::join(parts, ","));
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    std::string part = text.substr(start, end - start);
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    parts.push_back(std::move(part));
    start = end + 1;
  }
  return parts;
}

ProblemWords read_problem_words(const std::vector<std::string>& typed) {
  const std::string& first = typed.front();
  ProblemWords words;
  words.op = op_name_of(first);
  for (const auto& [open, close] : {std::pair('[', ']'), std::pair('{', '}')}) {
    const std::string inside = between(first, open, close);
    if (!inside.empty()) add_named(words, inside);
  }
  for (std::size_t i = 1; i < typed.size(); ++i) add_word(words, typed[i]);
  return words;
}

bool names_op(const std::string& word) { return word.find('=') >= word.find_first_of("[{"); }

std::vector<ProblemWords> read_words_of_ops(const std::vector<std::string>& words) {
  std::vector<std::vector<std::string>> ops;
  for (const std::string& word : words) {
    if (names_op(word)) {
      ops.push_back({word});
    } else if (ops.empty()) {
      throw UsageError(fmt::format("'{}' stands before its op: write OP {}", word, word));
    } else {
      ops.back().push_back(word);
    }
  }
  std::vector<ProblemWords> read;
  for (const std::vector<std::string>& op : ops) read.push_back(read_problem_words(op));
  return read;
}

void add_named(ProblemWords& words, const std::string& text) {
  for (const std::string& part : split_names(text)) add_word(words, part);
}

NameKind kind_of_name(const std::string& name, const OpInterface& interface) {
  if (name == "dtype") return NameKind::dtype;
  std::vector<std::string> known{"dtype"};
  for (const Attribute& attribute : interface.attributes) {
    if (attribute.name == name) return NameKind::attribute;
    known.push_back(attribute.name);
  }
  const auto& dims = interface.dims;
  if (std::find(dims.begin(), dims.end(), name) != dims.end()) return NameKind::dim;
  known.insert(known.end(), dims.begin(), dims.end());
  throw UsageError(fmt::format("{} has no dim or attribute '{}'{}", interface.op, name, suggestion(name, known)));
}

WantedProblems wanted_problems(const ProblemWords& words, const OpInterface& interface) {
  return [said = check(words, interface)](const Problem& problem) {
    const auto agrees = [&](const auto& attribute) {
      const std::string* value = problem.spec.attribute(attribute.first);
      return value != nullptr && holds(attribute.second, *value);
    };
    return (said.dtypes.empty() || holds(said.dtypes, problem.spec.dtype)) &&
           std::all_of(said.attributes.begin(), said.attributes.end(), agrees) &&
           std::all_of(said.dims.begin(), said.dims.end(), [&](const auto& dim) {
             return std::any_of(problem.dims.begin(), problem.dims.end(), [&](const auto& own) {
               return own.first == dim.first && holds(dim.second, own.second);
             });
           });
  };
}

WantedSpecs wanted_specs(const ProblemWords& words, const OpInterface& interface) {
  ProblemWords without_dims{words.op, {}};
  for (const auto& word : words.named) {
    if (kind_of_name(word.first, interface) != NameKind::dim) without_dims.named.push_back(word);
  }
  return [wanted = wanted_problems(without_dims, interface)](const OpSpec& spec) { return wanted(Problem{spec, {}}); };
}

std::string dims_text(const ProblemWords& words, const OpInterface& interface) {
  std::string text;
  for (const auto& [name, values] : words.named) {
    if (kind_of_name(name, interface) == NameKind::dim) {
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, values);
    }
  }
  return text;
}

OpSpec to_spec(const ProblemWords& words, const OpInterface& interface) {
  return parse_spec(spec_text(words, interface), interface);
}

Problem to_problem(const ProblemWords& words, const OpInterface& interface) {
  std::vector<std::string> dims;
  for (const auto& [name, value] : words.named) {
    if (kind_of_name(name, interface) != NameKind::dim) continue;
    require_one_value(name, value);
    dims.push_back(fmt::format("{}={}", name, value));
  }
  return parse_problem(fmt::format("{}{{{}}}", spec_text(words, interface), fmt::join(dims, ",")), interface);
}

}  // namespace tilewright::app
