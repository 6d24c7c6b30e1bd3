// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuner/remote/url.hpp"

/// HTTP/1.1 of a client: one connection, kept between requests, through the proxy that the environment names. Follows
/// no redirection. The only file that includes Boost.Beast is its source.
namespace tilewright {

struct ClientSettings {
  /// Sent as `Authorization: Bearer`; empty: none.
  std::string token{};
  /// Certificates that are trusted instead of the system's.
  std::optional<std::filesystem::path> authorities{};
  /// The longest wait for anything to come or go.
  std::chrono::milliseconds patience{30'000};
  /// Asked while it waits; true ends it with Unreachable.
  std::function<bool()> cancelled{};
};

struct HttpAnswer {
  int status = 0;
  /// Headers by lower-case name.
  std::map<std::string, std::string> headers{};
  std::string body{};

  /// Empty where there is none.
  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class HttpClient {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;
  /// Takes a body piece by piece; the answer has no body, but all else.
  using Sink = std::function<void(const HttpAnswer& head, std::string_view)>;

  /// Connects to nobody yet. Throws UsageError for a token that would go over an open line.
  HttpClient(const Url& url, ClientSettings settings);
  ~HttpClient();

  [[nodiscard]] const Url& url() const noexcept;
  /// `path` is behind the URL's own. `sink`, where it is given, takes the body of a status below 300. Throws
  /// Unreachable where no whole answer comes, Error for what is no HTTP or too long.
  [[nodiscard]] HttpAnswer ask(const std::string& method, const std::string& path, const Headers& headers = {},
                               std::string_view body = {}, const Sink& sink = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The words of a service's problem+json (docs/service.md), or its status: for the end of an error text.
[[nodiscard]] std::string refusal_text(const HttpAnswer& answer);

}  // namespace tilewright
