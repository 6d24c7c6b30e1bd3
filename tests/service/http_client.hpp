// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

/// A client that sends whatever a test wants, whole or in pieces, and reads what comes.
namespace tilewright::testing {

struct HttpAnswer {
  int status = 0;
  /// By lower-case name.
  std::map<std::string, std::string> headers;
  std::string body;

  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
};

class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void send(const std::string& text) const;
  /// No more is sent.
  void finish() const;
  /// The next answer; nothing where the connection ends, or none comes in time. `has_body` false: of HEAD.
  [[nodiscard]] std::optional<HttpAnswer> read(bool has_body = true);
  /// As much as comes until `sign` does, the connection ends, or time is over.
  [[nodiscard]] std::string read_until(const std::string& sign);
  /// Whether the server closes the connection in this time.
  [[nodiscard]] bool is_closed_within(std::chrono::milliseconds time) const;

 private:
  [[nodiscard]] bool receive();

  int socket_;
  std::string received_;
};

/// Of one request on a connection of its own. `more`: header lines, each with its "\r\n".
[[nodiscard]] HttpAnswer ask(std::uint16_t port, const std::string& method, const std::string& target,
                             const std::string& more = "", const std::string& body = "");

}  // namespace tilewright::testing
