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

/// A spec's known shapes, its op's model, and models learned without some of the shapes. Only the constructor reads the
/// store. Interface and device must outlive it.
class TrainingSet {
 public:
  /// `tuned`: the shapes of the spec of `key` that known() returns.
  TrainingSet(const Store& store, const OpInterface& interface, const DeviceFacts& device, const ProblemKey& key,
              MeasureMode mode, const std::vector<ShapeDims>& tuned, const Lessons& lessons = {});

  [[nodiscard]] const std::vector<ShapeSummary>& known() const noexcept { return known_; }
  /// The store's model; null if it has none: then serving() is empty and nothing can be learned.
  [[nodiscard]] const std::shared_ptr<const LossModel>& all() const noexcept { return all_; }
  /// The known shapes, with only winners, spares and failed configs.
  [[nodiscard]] const std::vector<ShapeSummary>& serving() const noexcept { return serving_; }
  /// All shapes to learn from, without repeats: the spec's first, those of lessons last.
  [[nodiscard]] std::vector<ShapeDims> shapes() const;
  /// A model for each fold, learned without its left-out shapes, on all cores; null if too few shapes remain. Throws as
  /// learn() does.
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
