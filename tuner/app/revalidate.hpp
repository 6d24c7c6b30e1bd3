// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tuner/app/tuning.hpp"

/// Times again, in turns, winners that were chosen under another driver, compiler, version or source.
namespace tilewright::app {

struct RevalidateRequest {
  Place place;
  Tuning tuning;
  /// Empty: all ops.
  std::string op;
  /// Chosen in this one; nothing: in the regime that each was chosen in.
  std::optional<Regime> regime;
};

struct RevalidateResult {
  /// The verdict on each. Nothing where none is stale, as the listener hears.
  std::optional<Table> table;
  bool whole = true;
};

/// Throws UsageError where there is no cache.
[[nodiscard]] RevalidateResult revalidate(const RevalidateRequest& request, Listener& listener);

}  // namespace tilewright::app
