// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Addresses of services and proxies. proxy_for() reads the environment; all else is pure. For any thread.
namespace tilewright {

struct Url {
  bool is_tls = false;
  /// Without brackets.
  std::string host;
  std::uint16_t port = 80;
  /// "/base", or empty; without a trailing slash.
  std::string path{};
  /// "user:password", of a proxy.
  std::string user{};

  /// "host:port", with brackets around an IPv6 address.
  [[nodiscard]] std::string authority() const;
  /// Without the user.
  [[nodiscard]] std::string text() const;
};

/// Whether a word is meant as a URL, not as a file: it has "://".
[[nodiscard]] bool looks_like_url(std::string_view text);
/// Throws UsageError if `text` is not an http:// or https:// address.
[[nodiscard]] Url parse_url(std::string_view text);

/// The environment's proxy for `url` (https_proxy, HTTPS_PROXY, http_proxy, all_proxy, ALL_PROXY), unless no_proxy or
/// NO_PROXY lists its host, a domain of it, or *. Throws UsageError for an invalid proxy.
[[nodiscard]] std::optional<Url> proxy_for(const Url& url);

/// 127.0.0.0/8, ::1 or localhost.
[[nodiscard]] bool is_this_machine(const std::string& host);

}  // namespace tilewright
