// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cache/model/problem.hpp"

/// A problem as people write it: `softmax rows=8 cols=100 dtype=f32`, `"softmax[dtype=f32]" rows=8 cols=100` or a whole
/// shape key. One reader for all requests.
namespace tilewright::app {

struct ProblemWords {
  std::string op;
  /// dtype, attributes and dims as written, in order; values may be lists and ranges where the verb takes many.
  std::vector<std::pair<std::string, std::string>> named;
};

/// Reads OP and the words behind it; there is one word at least. Throws UsageError for what is neither.
[[nodiscard]] ProblemWords read_problem_words(const std::vector<std::string>& words);

/// The words of several ops: those behind the name of an op are of that op. Throws UsageError for what is neither, and
/// for a NAME=VALUE that no op stands before. An op may stand there more than once.
[[nodiscard]] std::vector<ProblemWords> read_words_of_ops(const std::vector<std::string>& words);

/// Problems that agree with all that was said of them; what was not said may be anything. Values may be lists. A
/// problem of an older interface that lacks a name agrees with nothing that is said of it. Throws UsageError for names
/// and values that the op does not have, and for a name that is given twice.
using WantedProblems = std::function<bool(const Problem&)>;
[[nodiscard]] WantedProblems wanted_problems(const ProblemWords& words, const OpInterface& interface);

/// The same of a dtype with attributes: what was said of dims plays no part.
using WantedSpecs = std::function<bool(const OpSpec&)>;
[[nodiscard]] WantedSpecs wanted_specs(const ProblemWords& words, const OpInterface& interface);
/// The words on dims, as they were written: "rows=8 cols=64,128"; empty: nothing.
[[nodiscard]] std::string dims_text(const ProblemWords& words, const OpInterface& interface);

/// Adds "name=value,name=value": what --shape takes.
void add_named(ProblemWords& words, const std::string& text);

/// One problem. Throws UsageError for names that are unknown (with the nearest right one), doubled or missing, and for
/// a list of values.
[[nodiscard]] Problem to_problem(const ProblemWords& words, const OpInterface& interface);

/// The spec that the words fix; the rest takes its defaults. Throws as to_problem.
[[nodiscard]] OpSpec to_spec(const ProblemWords& words, const OpInterface& interface);

/// "a, b ,c" at its commas, blanks around the parts dropped.
[[nodiscard]] std::vector<std::string> split_list(const std::string& text);

/// dtype, attribute or dim: throws UsageError that suggests the nearest of all three.
enum class NameKind : std::uint8_t { dtype, attribute, dim };
[[nodiscard]] NameKind kind_of_name(const std::string& name, const OpInterface& interface);

}  // namespace tilewright::app
