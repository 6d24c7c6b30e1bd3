// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/model/formula/formula.hpp"

/// The contents of an op's arguments when it is verified and measured: `[op.sample]` and `[op.samples]` of
/// a definition. Values.
namespace tilewright {

struct OpDefinition;

/// An input that the reference of another op makes, rounded to the input's type.
struct MadeInput {
  std::shared_ptr<const OpDefinition> op;
  /// One of its outputs.
  std::string output;
  /// Attributes that the definition gives; of the others one with this op's value where it has one of that name, else
  /// the default.
  std::vector<std::pair<std::string, std::string>> attributes{};
  /// All of its dims, in its order, as formulas of this op's.
  std::vector<std::pair<std::string, Formula>> dims{};
};

/// The filling of an argument when the tuner verifies and measures. Formulas of tensors see the names of SampleScope
/// (definition/samples.hpp).
struct Sample {
  /// Scalars: "value", the number in `scale`. Tensors: "normal" (mean 0, deviation `scale`), "uniform" (in ±scale),
  /// "formula" (`scale` times the value of `formula`, by the element's indices) or "made". Tensors of whole numbers,
  /// too: "range" (each from `from` to below `to`), "prefix" (each row from 0 to `to`, never falling) and "permutation"
  /// (0 to below `to`, none twice before all were there).
  std::string fill = "normal";
  double scale = 1.0;
  /// The formula of a scalar whose value is a whole number, or depends on the problem: counts instead of `scale`.
  std::optional<Formula> formula = std::nullopt;
  /// A "formula"'s names of the indices, slowest first, and the condition where it counts (nothing: everywhere);
  /// elsewhere the tensor is standard normal.
  std::vector<std::string> index{};
  std::optional<Formula> where{};
  std::optional<Formula> from{};
  std::optional<Formula> to{};
  /// The value of an element in eight of a "range".
  std::optional<Formula> sometimes{};
  /// The maker of "made".
  std::optional<MadeInput> made{};
};

/// Samples by argument name: every scalar, and tensors that are not standard normal.
using Samples = std::map<std::string, Sample>;

struct NamedSamples {
  std::string name;
  Samples samples;
};

}  // namespace tilewright
