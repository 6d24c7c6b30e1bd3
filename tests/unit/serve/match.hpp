// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include "cache/serve/candidates.hpp"
#include "cache/serve/matched_row.hpp"

namespace tilewright {

/// The first candidate without a ban, legal or not: sources of tests need no recipes. Throws CacheError if there is
/// none and a row could not be read.
inline MatchedRow match(const WinnerSource& source, const ProblemQuery& query) {
  Candidates candidates(source, query);
  std::optional<MatchCandidate> first = candidates.next();
  while (first && first->decided && first->decided->kind == PinKind::ban) first = candidates.next();
  if (first) return {first->match, std::move(first->row)};
  candidates.rethrow_unread();
  return {};
}

}  // namespace tilewright
