// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tuner/service/rate_limit.hpp"
#include "tuner/service/router.hpp"
#include "tuner/service/tokens.hpp"

/// Admission: which addresses may be listened on, whose requests are answered, and how many.
namespace tilewright::service {

struct Settings;

class Gate {
 public:
  /// Throws UsageError for an address that others can reach, unless there are tokens, and TLS or a proxy that has it.
  /// `told` hears of a file of tokens that cannot be read any more.
  explicit Gate(const Settings& settings, std::function<void(const std::string&)> told = {});

  /// Why a request is not answered; nothing where it may be. `route` null: there is none. Sets the caller. One thread.
  [[nodiscard]] std::optional<Response> refuse(Call& call, const Route* route);
  /// The client's address; behind a proxy, the one that the proxy names.
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
