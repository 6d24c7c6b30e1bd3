// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tuner/learn/folds.hpp"
#include "tuner/learn/lessons.hpp"
#include "tuner/learn/spec_summaries.hpp"

namespace tilewright {

/// The known shapes of a spec and the model of its op, and models that are learned without some of the shapes. Reads
/// the store when it is made alone; all that it is given must outlive it.
class TrainingSet {
 public:
  /// `tuned`: the shapes of the spec of `key`, of which it takes `known`.
  TrainingSet(const Store& store, const OpInterface& interface, const DeviceFacts& device, const ProblemKey& key,
              MeasureMode mode, const std::vector<ShapeDims>& tuned, const Lessons& lessons = {});

  [[nodiscard]] const std::vector<ShapeSummary>& known() const noexcept { return known_; }
  /// Null where the store has learned nothing: then nothing is learned anew either, and the rest is empty.
  [[nodiscard]] const std::shared_ptr<const LossModel>& all() const noexcept { return all_; }
  /// The known shapes, with configs that may serve and those that failed.
  [[nodiscard]] const std::vector<ShapeSummary>& serving() const noexcept { return serving_; }
  /// All shapes that are learned from, each once, those of the spec first and those of lessons last.
  [[nodiscard]] std::vector<ShapeDims> shapes() const;
  /// Models of the op without each of the folds, learned on all cores; null where too little is left. Throws as
  /// learn().
  [[nodiscard]] std::vector<std::shared_ptr<const LossModel>> without_each(const Folds& folds) const;

 private:
  [[nodiscard]] std::shared_ptr<const LossModel> without(const std::set<ShapeDims>& left_out) const;

  const OpInterface& interface_;
  const DeviceFacts& device_;
  std::map<std::string, ImplementationRecipe> recipes_;
  std::vector<ShapeSummary> known_, serving_;
  std::vector<SpecSummary> of_op_, lessons_;
  std::shared_ptr<const LossModel> all_;
};

}  // namespace tilewright
