// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cache/model/problem.hpp"

/// A problem as people write it: `softmax rows=8 cols=100 dtype=f32`, `"softmax[dtype=f32]" rows=8 cols=100` or a whole
/// shape key. All requests use this reader.
namespace tilewright::app {

struct ProblemWords {
  std::string op;
  /// dtype, attributes and dims as written, in order; values may be lists and ranges if the verb takes several.
  std::vector<std::pair<std::string, std::string>> named;
};

/// Reads OP and the NAME=VALUE words behind it; OP must be there. Throws UsageError for any other word.
[[nodiscard]] ProblemWords read_problem_words(const std::vector<std::string>& words);

/// Whether the word names an op, as "softmax" and "softmax[dtype=bf16]" do, and "dtype=bf16" does not.
[[nodiscard]] bool names_op(const std::string& word);

/// Reads the words of several ops: words behind an op's name belong to that op. Throws UsageError for any other word,
/// and for a NAME=VALUE before the first op. An op may appear more than once.
[[nodiscard]] std::vector<ProblemWords> read_words_of_ops(const std::vector<std::string>& words);

/// Problems that match all words; a name without a word may have any value. Values may be lists. A problem of an older
/// interface that lacks a name does not match a word on it. Throws UsageError for names and values that the op does not
/// have, and for a doubled name.
using WantedProblems = std::function<bool(const Problem&)>;
[[nodiscard]] WantedProblems wanted_problems(const ProblemWords& words, const OpInterface& interface);

/// The same for a dtype with attributes; words on dims are ignored.
using WantedSpecs = std::function<bool(const OpSpec&)>;
[[nodiscard]] WantedSpecs wanted_specs(const ProblemWords& words, const OpInterface& interface);
/// The words on dims, as written: "rows=8 cols=64,128"; empty if there are none.
[[nodiscard]] std::string dims_text(const ProblemWords& words, const OpInterface& interface);

/// Adds "name=value,name=value", the form of --shape.
void add_named(ProblemWords& words, const std::string& text);

/// One problem. Throws UsageError for a name that is unknown (with the nearest right one), doubled or missing, and for
/// a list of values.
[[nodiscard]] Problem to_problem(const ProblemWords& words, const OpInterface& interface);

/// The spec that the words fix; other names take their defaults. Throws as to_problem().
[[nodiscard]] OpSpec to_spec(const ProblemWords& words, const OpInterface& interface);

/// Splits "a, b ,c" at its commas, and trims blanks.
[[nodiscard]] std::vector<std::string> split_list(const std::string& text);

/// The kinds of names. kind_of_name() throws UsageError for any other name, with the nearest of all kinds.
enum class NameKind : std::uint8_t { dtype, attribute, dim };
[[nodiscard]] NameKind kind_of_name(const std::string& name, const OpInterface& interface);

}  // namespace tilewright::app
