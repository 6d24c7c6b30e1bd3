// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tuner/app/place.hpp"
#include "tuner/definition/definition.hpp"
#include "tuner/learn/lessons.hpp"

namespace tilewright::app {

/// The lessons that an op takes from others, by `learns_from` of its definition.
[[nodiscard]] Lessons lessons_for(const OpDefinition& definition);
/// Empty if there is no definition of the op here.
[[nodiscard]] Lessons lessons_for(const std::string& op, const Place& place);

}  // namespace tilewright::app
