// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tuner/app/tuning.hpp"

/// Times stale winners again, in turns: winners chosen under another driver, compiler, version or source.
namespace tilewright::app {

struct RevalidateRequest {
  Place place;
  Tuning tuning;
  /// Empty: all ops.
  std::string op;
  /// The regime to choose in; nullopt: the regime that each winner was chosen in.
  std::optional<Regime> regime;
};

struct RevalidateResult {
  /// The verdict on each stale winner; nullopt if there is none, as the listener is told.
  std::optional<Table> table;
  bool whole = true;
};

/// Throws UsageError if there is no cache.
[[nodiscard]] RevalidateResult revalidate(const RevalidateRequest& request, Listener& listener);

}  // namespace tilewright::app
