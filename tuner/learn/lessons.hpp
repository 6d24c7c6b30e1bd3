// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/model/device_facts.hpp"
#include "cache/model/formula/formula.hpp"
#include "cache/model/interface.hpp"
#include "cache/store/store.hpp"
#include "tuner/learn/spec_summaries.hpp"

/// Lessons from the trials of another op: a product with an epilogue is nearly as fast as the product, so that
/// thousands of the product's trials tell which tiles are good where. They are learned from and serve nobody.
namespace tilewright {

/// An op that teaches. Formulas see its dims, its attributes and `dtype`.
struct Teacher {
  std::string op;
  /// Nothing: all its problems teach.
  std::optional<Formula> when{};
  /// The dims of the op that learns, in its order.
  std::vector<Formula> dims{};
  /// Formulas of parameters that the other op's configs lack.
  std::map<std::string, Formula> parameters{};
};

/// An implementation that learns, from those of its name.
struct Learner {
  std::string hash;
  std::vector<std::string> parameters;
};

struct Lessons {
  std::vector<Teacher> teachers{};
  std::map<std::string, Learner> learners{};
};

/// The teachers' tuned problems in the cache as problems of the op: of the same dtype, attributes by their names, or
/// the op's first value where it has none such; of each the timed configs that can be said in the op's parameters.
/// Throws DefinitionError for a formula that cannot be evaluated.
[[nodiscard]] std::vector<SpecSummary> lessons_of(const Store& store, const OpInterface& interface,
                                                  const DeviceFacts& device, MeasureMode mode, const Lessons& lessons);

}  // namespace tilewright
