// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/lessons.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <iterator>
#include <thread>
#include <utility>

#include "tuner/learn/learn.hpp"

namespace tilewright {

Lessons::Lessons(const Store& store, const OpInterface& interface, const DeviceFacts& device, const ProblemKey& key,
                 MeasureMode mode, const std::vector<ShapeDims>& tuned)
    : interface_(interface), device_(device), known_(store.known_shapes(key, mode, tuned)) {
  const auto learned = store.learned(key, mode);
  if (!learned) return;
  all_ = learned->model;
  of_op_ = known_specs(store, interface, device, mode);
  // Threads learn from what was read by this one.
  const RecipeOf stored = recipes_of(store);
  for (const KnownSpec& spec : of_op_) {
    for (const KnownShape& shape : spec.shapes) {
      for (const KnownConfig& each : shape.configs) {
        recipes_.try_emplace(each.implementation_hash, stored(each.implementation_hash));
      }
    }
  }
  for (const KnownShape& shape : known_) {
    serving_.push_back({shape.dims, {}});
    std::ranges::copy_if(shape.configs, std::back_inserter(serving_.back().configs),
                         [](const KnownConfig& each) { return each.role || each.is_spare || each.has_failed; });
  }
}

std::vector<ShapeDims> Lessons::shapes() const {
  std::vector<ShapeDims> all;
  std::set<ShapeDims> seen;
  const auto add = [&](const std::vector<KnownShape>& known) {
    for (const KnownShape& shape : known) {
      if (seen.insert(shape.dims).second) all.push_back(shape.dims);
    }
  };
  add(known_);
  for (const KnownSpec& each : of_op_) add(each.shapes);
  return all;
}

std::vector<std::shared_ptr<const LossModel>> Lessons::without_each(const Parts& parts) const {
  std::vector<std::shared_ptr<const LossModel>> models(parts.count());
  std::atomic<std::size_t> next = 0;
  const auto learn_next = [&] {
    for (std::size_t part = next++; part < models.size(); part = next++) models[part] = without(parts.left_out(part));
  };
  std::vector<std::future<void>> learners;
  const std::size_t cores = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, models.size());
  for (std::size_t i = 0; i < cores; ++i) learners.push_back(std::async(std::launch::async, learn_next));
  for (std::future<void>& each : learners) each.get();
  return models;
}

std::shared_ptr<const LossModel> Lessons::without(const std::set<ShapeDims>& left_out) const {
  std::vector<KnownSpec> rest;
  for (const KnownSpec& each : of_op_) {
    KnownSpec& part = rest.emplace_back(KnownSpec{each.spec, {}});
    std::ranges::copy_if(each.shapes, std::back_inserter(part.shapes),
                         [&](const KnownShape& shape) { return !left_out.contains(shape.dims); });
  }
  std::erase_if(rest, [](const KnownSpec& each) { return each.shapes.empty(); });
  const auto recipe_of = [&](const std::string& hash) -> const ImplementationRecipe& { return recipes_.at(hash); };
  auto model = learn(interface_, device_, rest, recipe_of);
  return model ? std::make_shared<const LossModel>(*std::move(model)) : nullptr;
}

}  // namespace tilewright
