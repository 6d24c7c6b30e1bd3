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

/// An HTTP/1.1 client with one connection, kept between requests, through the environment's proxy. Follows no
/// redirections. In this folder, only its source includes Boost.Beast. One thread.
namespace tilewright {

struct ClientSettings {
  /// Sent as `Authorization: Bearer`; empty: no token is sent.
  std::string token{};
  /// PEM file of certificates to trust instead of the system's.
  std::optional<std::filesystem::path> authorities{};
  /// The longest wait for the network to send or receive.
  std::chrono::milliseconds patience{30'000};
  /// Asked during waits; true ends the request with Unreachable.
  std::function<bool()> cancelled{};
};

struct HttpAnswer {
  int status = 0;
  /// Headers by lower-case name.
  std::map<std::string, std::string> headers{};
  std::string body{};

  /// Empty if the header is absent.
  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class HttpClient {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;
  /// Takes a body piece by piece; `head` is the answer without its body.
  using Sink = std::function<void(const HttpAnswer& head, std::string_view)>;

  /// Does not connect yet. Throws UsageError if a token would be sent without TLS to another machine.
  HttpClient(const Url& url, ClientSettings settings);
  ~HttpClient();

  [[nodiscard]] const Url& url() const noexcept;
  /// `path` follows the URL's own path. `sink`, if given, takes the body of an answer below 300. Throws Unreachable if
  /// no complete answer arrives, Error if the answer is not HTTP or is too long.
  [[nodiscard]] HttpAnswer ask(const std::string& method, const std::string& path, const Headers& headers = {},
                               std::string_view body = {}, const Sink& sink = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The texts of a service's problem+json (docs/service.md), or else the status: for the end of an error message.
[[nodiscard]] std::string refusal_text(const HttpAnswer& answer);

}  // namespace tilewright
