// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/app/place.hpp"
#include "tuner/service/router.hpp"
#include "tuner/service/tuner.hpp"

namespace tilewright::service {

/// Adds the paths of misses and campaigns. `tuner` must outlive the router.
void add_queue_routes(Router& router, const app::Place& place, Tuner& tuner);

}  // namespace tilewright::service
