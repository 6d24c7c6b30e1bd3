// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/rate_limit.hpp"

#include <algorithm>
#include <cstddef>

namespace tilewright::service {

bool RateLimit::admits(const std::string& client, Clock::time_point now) {
  constexpr std::size_t kMostClients = 10'000;
  if (per_second_ <= 0) return true;
  const double most = 2 * per_second_;
  // After two seconds without requests a client has its full allowance again and needs no row.
  if (left_.size() >= kMostClients) {
    std::erase_if(left_, [&](const auto& each) { return now - each.second.at > std::chrono::seconds(2); });
    if (left_.size() >= kMostClients) left_.clear();
  }
  const auto found = left_.try_emplace(client, Left{most, now}).first;
  Left& left = found->second;
  left.requests = std::min(most, left.requests + per_second_ * std::chrono::duration<double>(now - left.at).count());
  left.at = now;
  if (left.requests < 1) return false;
  left.requests -= 1;
  return true;
}

}  // namespace tilewright::service
