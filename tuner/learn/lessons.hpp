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

/// Lessons from the trials of another op: a product with an epilogue is nearly as fast as the product, so thousands of
/// the product's trials show which tiles are good where. They train a model and are not proposed. Reads the store.
namespace tilewright {

/// An op that teaches. Its formulas see its own dims, attributes and `dtype`.
struct Teacher {
  std::string op;
  /// The problems that teach; unset: all.
  std::optional<Formula> when{};
  /// The learning op's dims, in its order.
  std::vector<Formula> dims{};
  /// Values of parameters that the teacher's configs lack.
  std::map<std::string, Formula> parameters{};
};

/// An implementation that learns from the teacher's implementation of the same name.
struct Learner {
  std::string hash;
  std::vector<std::string> parameters;
};

struct Lessons {
  std::vector<Teacher> teachers{};
  std::map<std::string, Learner> learners{};
};

/// The teachers' tuned problems as problems of the op: of the same dtype, with attributes of the same name and value,
/// or else the op's first value. Each has the timed configs that fit the op's parameters. Throws DefinitionError if a
/// formula cannot be evaluated.
[[nodiscard]] std::vector<SpecSummary> lessons_of(const Store& store, const OpInterface& interface,
                                                  const DeviceFacts& device, MeasureMode mode, const Lessons& lessons);

}  // namespace tilewright
