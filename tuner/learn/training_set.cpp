// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/training_set.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cache/base/in_parallel.hpp"
#include "tuner/learn/learn.hpp"

namespace tilewright {

TrainingSet::TrainingSet(const Store& store, const OpInterface& interface, const DeviceFacts& device,
                         const ProblemKey& key, MeasureMode mode, const std::vector<ShapeDims>& tuned,
                         const Lessons& lessons)
    : interface_(interface), device_(device), known_(store.known_shapes(key, mode, tuned)) {
  const auto learned = store.learned(key, mode);
  if (!learned) return;
  all_ = learned->model;
  of_op_ = known_specs(store, interface, device, mode);
  lessons_ = lessons_of(store, interface, device, mode, lessons);
  // Read by this thread, so that learning threads do not touch the store.
  const RecipeOf stored = recipes_of(store);
  const auto read_recipes = [&](const std::vector<SpecSummary>& specs) {
    for (const SpecSummary& spec : specs) {
      for (const ShapeSummary& shape : spec.shapes) {
        for (const ConfigSummary& each : shape.configs) {
          recipes_.try_emplace(each.id.implementation_hash, stored(each.id.implementation_hash));
        }
      }
    }
  };
  read_recipes(of_op_);
  read_recipes(lessons_);
  for (const ShapeSummary& shape : known_) {
    serving_.push_back({shape.dims, {}});
    std::ranges::copy_if(shape.configs, std::back_inserter(serving_.back().configs),
                         [](const ConfigSummary& each) { return each.role || each.is_spare || each.has_failed; });
  }
}

std::vector<ShapeDims> TrainingSet::shapes() const {
  std::vector<ShapeDims> all;
  std::set<ShapeDims> seen;
  const auto add = [&](const std::vector<ShapeSummary>& known) {
    for (const ShapeSummary& shape : known) {
      if (seen.insert(shape.dims).second) all.push_back(shape.dims);
    }
  };
  add(known_);
  for (const SpecSummary& each : of_op_) add(each.shapes);
  for (const SpecSummary& each : lessons_) add(each.shapes);
  return all;
}

std::vector<std::shared_ptr<const LossModel>> TrainingSet::without_each(const Folds& folds) const {
  std::vector<std::shared_ptr<const LossModel>> models(folds.count());
  in_parallel(models.size(), [&](std::size_t fold) { models[fold] = without(folds.left_out(fold)); });
  return models;
}

std::shared_ptr<const LossModel> TrainingSet::without(const std::set<ShapeDims>& left_out) const {
  const auto rest_of = [&](const std::vector<SpecSummary>& specs) {
    std::vector<SpecSummary> rest;
    for (const SpecSummary& each : specs) {
      SpecSummary& fold = rest.emplace_back(SpecSummary{each.spec, {}});
      std::ranges::copy_if(each.shapes, std::back_inserter(fold.shapes),
                           [&](const ShapeSummary& shape) { return !left_out.contains(shape.dims); });
    }
    std::erase_if(rest, [](const SpecSummary& each) { return each.shapes.empty(); });
    return rest;
  };
  const auto recipe_of = [&](const std::string& hash) -> const ImplementationRecipe& { return recipes_.at(hash); };
  auto model = learn(interface_, device_, rest_of(of_op_), recipe_of, rest_of(lessons_));
  return model ? std::make_shared<const LossModel>(*std::move(model)) : nullptr;
}

}  // namespace tilewright
