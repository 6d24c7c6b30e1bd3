// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tuner/service/rate_limit.hpp"
#include "tuner/service/router.hpp"
#include "tuner/service/tokens.hpp"

/// Admission: the addresses the service may listen on, the clients it answers, and how often.
namespace tilewright::service {

struct Settings;

class Gate {
 public:
  /// Throws UsageError if other machines can reach the address, directly or by a proxy, unless there are tokens, and
  /// TLS here or at the proxy. `told` hears of a token file that can no longer be read.
  explicit Gate(const Settings& settings, std::function<void(const std::string&)> told = {});

  /// A request's refusal, or nullopt if it is admitted. `route`: null if none matches. Sets call.caller. One thread.
  [[nodiscard]] std::optional<Response> refuse(Call& call, const Route* route);
  /// The client's address; behind a proxy, the address that the proxy reports.
  [[nodiscard]] std::string client_of(const Request& request) const;

 private:
  [[nodiscard]] std::optional<Response> refuse_host(const Request& request) const;
  [[nodiscard]] std::optional<Response> refuse_token(Call& call, Scope scope) const;

  const bool read_only_;
  const bool behind_proxy_;
  std::unique_ptr<Tokens> tokens_;
  RateLimit limit_;
};

}  // namespace tilewright::service
