// SPDX-License-Identifier: Apache-2.0
#include "cache/serve/match.hpp"

#include <utility>

namespace tilewright {

MatchedRow match(const WinnerSource& source, const ProblemQuery& query) {
  Candidates candidates(source, query);
  std::optional<MatchCandidate> first = candidates.next();
  while (first && first->decided && first->decided->kind == PinKind::ban) first = candidates.next();
  if (first) return {first->match, std::move(first->row)};
  candidates.rethrow_unread();
  return {};
}

}  // namespace tilewright
