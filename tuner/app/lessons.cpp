// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/lessons.hpp"

#include <algorithm>

#include "tuner/definition/catalogue.hpp"

namespace tilewright::app {

Lessons lessons_for(const OpDefinition& definition) {
  Lessons lessons;
  for (const LearnsFrom& from : definition.learns_from) {
    lessons.teachers.push_back({from.op, from.when, from.dims, from.parameters});
  }
  if (lessons.teachers.empty()) return lessons;
  for (const Implementation& each : definition.implementations) {
    lessons.learners.emplace(each.recipe.name, Learner{each.hash, each.recipe.parameters});
  }
  return lessons;
}

Lessons lessons_for(const std::string& op, const Place& place) {
  Catalogue catalogue = open_catalogue(place);
  const std::vector<std::string> names = catalogue.names();
  if (std::ranges::find(names, op) == names.end()) return {};
  return lessons_for(catalogue.find(op));
}

}  // namespace tilewright::app
