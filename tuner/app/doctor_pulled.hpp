// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tuner/app/doctor_cache.hpp"

namespace tilewright::app {

/// The findings of `doctor` on snapshots of `tilewright pull`: for each channel which one is there, how old it is and
/// whether pulls fail, and the one that TILEWRIGHT_SNAPSHOT pins. None where nothing was pulled or pinned.
[[nodiscard]] std::vector<Finding> look_at_pulled(const Place& place);

}  // namespace tilewright::app
