// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cache/match.hpp"
#include "cache/store/store.hpp"

/// What a cache serves for a problem, by the launch library's own rule (cache/choose.hpp), for addresses that are aligned to
/// anything.
namespace tilewright::cli {

struct Servable {
  /// `none` where what was found cannot be launched.
  Served served;
  /// Then why: each config and the constraint or limit that forbids it.
  std::string obstacle;
};

/// Throws UsageError when the problem itself is beyond 2^63 bytes.
[[nodiscard]] Servable find_servable(const Store& store, const OpInterface& interface, const Problem& problem,
                                     const DeviceFacts& device, const Versions& versions);

}  // namespace tilewright::cli
