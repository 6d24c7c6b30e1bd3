// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tuner/app/place.hpp"
#include "tuner/definition/definition.hpp"
#include "tuner/learn/lessons.hpp"

namespace tilewright::app {

/// The lessons of an op from others, by its definition (`learns_from`).
[[nodiscard]] Lessons lessons_for(const OpDefinition& definition);
/// None where no definition of the op is at hand.
[[nodiscard]] Lessons lessons_for(const std::string& op, const Place& place);

}  // namespace tilewright::app
