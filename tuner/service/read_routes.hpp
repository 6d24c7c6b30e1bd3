// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/app/place.hpp"
#include "tuner/app/place_watch.hpp"
#include "tuner/app/table.hpp"
#include "tuner/service/message.hpp"
#include "tuner/service/router.hpp"

namespace tilewright::service {

/// Adds the read-only paths: the output of `query`, `table` and `list` with --format json. `watch` must outlive the
/// router.
void add_read_routes(Router& router, const app::Place& place, app::PlaceWatch& watch);

/// The table's rows, as --format json prints them.
[[nodiscard]] Response json_of(const Table& table);

}  // namespace tilewright::service
