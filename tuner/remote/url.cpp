// SPDX-License-Identifier: Apache-2.0
#include "tuner/remote/url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";

std::string variable(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    if (const char* const value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  return {};
}

/// Whether no_proxy lists the URL's host or a domain of it, with or without a port.
bool is_excepted(std::string_view rest, const Url& url) {
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(", "), rest.size());
    std::string_view name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name == "*") return true;
    if (const std::string port = fmt::format(":{}", url.port); name.ends_with(port)) name.remove_suffix(port.size());
    while (name.starts_with('.')) name.remove_prefix(1);
    if (name.empty()) continue;
    if (url.host == name || url.host.ends_with("." + std::string(name))) return true;
  }
  return false;
}

}  // namespace

std::string Url::authority() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

std::string Url::text() const { return fmt::format("{}{}{}", is_tls ? kHttps : kHttp, authority(), path); }

bool looks_like_url(std::string_view text) { return text.find("://") != std::string_view::npos; }

Url parse_url(std::string_view text) {
  const auto refuse = [text](const char* why) {
    return UsageError(
        fmt::format("'{}' is not the address of a service: {}. Write such as http://127.0.0.1:8470", text, why));
  };
  Url url;
  url.is_tls = text.starts_with(kHttps);
  if (!url.is_tls && !text.starts_with(kHttp)) throw refuse("it begins with neither http:// nor https://");
  std::string_view rest = text.substr(url.is_tls ? kHttps.size() : kHttp.size());
  std::string_view authority = rest.substr(0, rest.find('/'));
  url.path = rest.substr(authority.size());
  while (url.path.ends_with('/')) url.path.pop_back();
  if (text.find_first_of("?# \t\r\n") != std::string_view::npos) throw refuse("it has a query, or a space");
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    url.user = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  url.port = url.is_tls ? 443 : 80;
  std::size_t colon = authority.rfind(':');
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) throw refuse("its [ has no ]");
    url.host = authority.substr(1, end - 1);
    if (colon < end) colon = std::string_view::npos;
    if (colon == std::string_view::npos && end + 1 != authority.size()) throw refuse("only a port may follow ]");
  } else {
    url.host = authority.substr(0, colon);
  }
  if (colon != std::string_view::npos) {
    const std::string_view digits = authority.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
    if (error != std::errc() || end != digits.data() + digits.size() || url.port == 0)
      throw refuse("its port is not a number from 1 to 65535");
  }
  if (url.host.empty()) throw refuse("it names no host");
  return url;
}

std::optional<Url> proxy_for(const Url& url) {
  // Not HTTP_PROXY: a CGI server sets it from the client's Proxy header.
  std::string proxy = url.is_tls ? variable({"https_proxy", "HTTPS_PROXY"}) : variable({"http_proxy"});
  if (proxy.empty()) proxy = variable({"all_proxy", "ALL_PROXY"});
  if (proxy.empty() || is_excepted(variable({"no_proxy", "NO_PROXY"}), url)) return std::nullopt;
  return parse_url(looks_like_url(proxy) ? proxy : fmt::format("{}{}", kHttp, proxy));
}

bool is_this_machine(const std::string& host) {
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos);
}

}  // namespace tilewright
