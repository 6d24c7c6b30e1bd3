// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tuner/app/doctor_cache.hpp"

namespace tilewright::app {

/// The findings of `doctor` on snapshots of `tilewright pull`: the snapshot of each channel, its age and whether pulls
/// fail, and the snapshot that TILEWRIGHT_SNAPSHOT pins. Empty if nothing was pulled or pinned.
[[nodiscard]] std::vector<Finding> look_at_pulled(const Place& place);

}  // namespace tilewright::app
