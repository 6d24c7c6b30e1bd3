// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cache/match.hpp"

/// What a cache serves for a problem, as the launch library would: a fallback that was measured on another problem or
/// device counts only where its implementation can serve this one.
namespace tilewright::cli {

struct Servable {
  /// `none` where what was found cannot be launched.
  Served served;
  /// Then why: the config and the constraint or limit that forbids it.
  std::string obstacle;
};

/// Throws UsageError when the problem itself is beyond 2^63 bytes.
[[nodiscard]] Servable find_servable(const Store& store, const OpInterface& interface, const Problem& problem,
                                     const DeviceFacts& device, const Versions& versions);

}  // namespace tilewright::cli
