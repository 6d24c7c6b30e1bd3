// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/app/place.hpp"
#include "tuner/service/router.hpp"

namespace tilewright::service {

/// What only reads: what `query`, `table` and `list` print with --format json, from the same code.
void add_read_routes(Router& router, const app::Place& place);

}  // namespace tilewright::service
