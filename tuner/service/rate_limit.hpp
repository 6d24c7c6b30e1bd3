// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>

namespace tilewright::service {

/// Limits each client (a token or an address) to a rate of requests, with bursts of twice as many. One thread.
class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;

  /// 0: no limit.
  explicit RateLimit(double per_second) : per_second_(per_second) {}
  [[nodiscard]] bool admits(const std::string& client, Clock::time_point now);

 private:
  struct Left {
    double requests;
    Clock::time_point at;
  };
  const double per_second_;
  std::unordered_map<std::string, Left> left_;
};

}  // namespace tilewright::service
