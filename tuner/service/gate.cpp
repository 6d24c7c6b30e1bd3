// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/gate.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "cache/base/clock.hpp"
#include "cache/base/error.hpp"
#include "tuner/remote/url.hpp"
#include "tuner/service/problem.hpp"
#include "tuner/service/service.hpp"

namespace tilewright::service {
namespace {

/// The host of "host:port", without brackets.
std::string host_of(std::string_view text) {
  if (text.starts_with('[')) return std::string(text.substr(1, text.find(']') - 1));
  return std::string(text.substr(0, text.find(':')));
}

}  // namespace

Gate::Gate(const Settings& settings, std::function<void(const std::string&)> told)
    : read_only_(settings.read_only),
      behind_proxy_(settings.behind_proxy),
      tokens_(settings.tokens ? std::make_unique<Tokens>(*settings.tokens, std::move(told)) : nullptr),
      limit_(settings.requests_per_second) {
  const bool is_own = is_loopback(settings.bind);
  if (is_own && behind_proxy_ && !tokens_) {
    throw UsageError(
        "--behind-proxy: without tokens, who reaches the proxy may do everything. Make a token with `tilewright serve "
        "--tokens FILE --new-token NAME`, and add --tokens FILE; or leave --behind-proxy out");
  }
  if (is_own || (tokens_ && (behind_proxy_ || settings.tls))) return;
  throw UsageError(fmt::format(
      "--bind {}: others can reach this address, {}. Make a token with `tilewright serve --tokens FILE --new-token "
      "NAME`, and add --tokens FILE with --certificate FILE, or with --behind-proxy where a proxy speaks TLS "
      "(docs/service.md); or leave --bind out",
      settings.bind,
      tokens_ ? "and a token sent without TLS can be read on the way"
              : "and without tokens everybody may do everything"));
}

std::string Gate::client_of(const Request& request) const {
  if (!behind_proxy_) return request.peer;
  // The proxy adds the last address; the client may have sent the others.
  const std::string told = request.header("x-forwarded-for");
  const std::size_t comma = told.find_last_of(", ");
  const std::string last = comma == std::string::npos ? told : told.substr(comma + 1);
  return last.empty() || last.size() > 64 || !is_plain_utf8(last) ? request.peer : last;
}

/// Against DNS rebinding: a web page may point its own name at this machine.
std::optional<Response> Gate::refuse_host(const Request& request) const {
  if (tokens_ || request.header("host").empty() || is_this_machine(host_of(request.header("host")))) return {};
  return problem(421, "this service has no tokens and answers requests to this machine alone",
                 "Ask http://127.0.0.1, or give it tokens (docs/service.md).");
}

std::optional<Response> Gate::refuse_token(Call& call, Scope scope) const {
  if (!tokens_ || scope == Scope::none) return {};
  constexpr std::string_view kBearer = "Bearer ";
  const std::string given = call.request.header("authorization");
  const bool is_bearer = given.size() > kBearer.size() && given.starts_with(kBearer);
  const std::optional<Token> token =
      is_bearer ? tokens_->find(given.substr(kBearer.size()), now_seconds()) : std::nullopt;
  if (!token) {
    Response response =
        problem(401, is_bearer ? "the token is unknown or has expired" : "this needs a token",
                "Send `Authorization: Bearer TOKEN`; who runs the service makes one with `tilewright serve "
                "--tokens FILE --new-token NAME`.");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  call.caller = token->name;
  if (token->scopes.contains(scope)) return {};
  return problem(
      403, fmt::format("the token '{}' does not allow this: it needs the scope '{}'", token->name, name_of(scope)),
      fmt::format("Ask who runs the service for a token with --scopes {}.", name_of(scope)));
}

std::optional<Response> Gate::refuse(Call& call, const Route* route) {
  if (std::optional<Response> refusal = refuse_host(call.request)) return refusal;
  std::optional<Response> refusal = route == nullptr ? std::nullopt : refuse_token(call, route->scope);
  const std::string client = call.caller.empty() ? "address " + client_of(call.request) : "token " + call.caller;
  if (!limit_.admits(client, RateLimit::Clock::now())) {
    Response response =
        problem(429, fmt::format("too many requests of {}", client), "Ask again in a second, less often.");
    response.headers.emplace_back("Retry-After", "1");
    return response;
  }
  if (refusal || route == nullptr || !route->writes()) return refusal;
  if (read_only_) {
    return problem(403, "this service is read-only", "Start it without --read-only, or ask one that is not.");
  }
  if (!route->body_schema.empty() && !call.request.header("content-type").starts_with(route->body_type)) {
    return problem(415, fmt::format("the body must be {}", route->body_type),
                   fmt::format("Send Content-Type: {}.", route->body_type));
  }
  return {};
}

}  // namespace tilewright::service
