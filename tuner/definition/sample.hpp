// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/model/formula/formula.hpp"

/// The contents of an op's arguments for verification and measurement: `[op.sample]` and `[op.samples]` of a
/// definition. Values.
namespace tilewright {

struct OpDefinition;

/// An input made by another op's reference and rounded to the input's type.
struct MadeInput {
  std::shared_ptr<const OpDefinition> op;
  /// The other op's output that becomes the input.
  std::string output;
  /// The other op's attributes that the definition gives. Each other attribute has this op's value of that name, else
  /// its default.
  std::vector<std::pair<std::string, std::string>> attributes{};
  /// The other op's dims in its order, as formulas over this op's names.
  std::vector<std::pair<std::string, Formula>> dims{};
};

/// How an argument is filled. Formulas of tensors see the names of SampleScope (definition/samples.hpp).
struct Sample {
  /// Scalars: "value", the number in `scale`. Tensors: "normal" (mean 0, deviation `scale`), "uniform" (in ±scale),
  /// "formula" (`scale` times the value of `formula` at the element's indices) or "made". Whole-number tensors also:
  /// "range" (each from `from` to below `to`), "prefix" (each row rises from 0 to `to`, without falling) and
  /// "permutation" (0 to below `to`, each once before any repeats).
  std::string fill = "normal";
  double scale = 1.0;
  /// A scalar's formula, for a whole number or a value that depends on the problem. Replaces `scale`.
  std::optional<Formula> formula = std::nullopt;
  /// For "formula": the names of the indices, slowest first, and the condition under which it applies (nullopt:
  /// everywhere). Other elements are standard normal.
  std::vector<std::string> index{};
  std::optional<Formula> where{};
  std::optional<Formula> from{};
  std::optional<Formula> to{};
  /// The value of one element in eight of a "range", at random.
  std::optional<Formula> sometimes{};
  /// The maker, if `fill` is "made".
  std::optional<MadeInput> made{};
};

/// Samples by argument name: all scalars, and the tensors that are not standard normal.
using Samples = std::map<std::string, Sample>;

struct NamedSamples {
  std::string name;
  Samples samples;
};

}  // namespace tilewright
