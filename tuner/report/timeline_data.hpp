// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cache/store/history.hpp"
#include "tuner/report/packed.hpp"

/// When compilers and devices worked in each sweep, for the page of a report: columns beside those of its builds and
/// trials. Pure.
namespace tilewright {

/// `trials` are those of the page, in its order; builds and sweeps are all of the history's, by id. Null where it is
/// not known of any. Moments are tenths of milliseconds since `sweeps[place]` (seconds since 1970; 0: nothing is known
/// of it), one more than that, and 0 where it is not known; lengths are microseconds.
[[nodiscard]] PageJson timeline_data(const History& history, const std::vector<const History::TrialOf*>& trials);

}  // namespace tilewright
