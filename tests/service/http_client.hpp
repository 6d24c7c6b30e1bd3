// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

/// A client that sends any text, whole or in pieces, and reads the answers.
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
  /// Closes the sending side.
  void finish() const;
  /// The next answer, or nullopt if the connection ends or time runs out. `has_body` false: the answer to HEAD.
  [[nodiscard]] std::optional<HttpAnswer> read(bool has_body = true);
  /// The text up to `sign`, the connection's end, or a timeout.
  [[nodiscard]] std::string read_until(const std::string& sign);
  /// Whether the server closes the connection within `time`.
  [[nodiscard]] bool is_closed_within(std::chrono::milliseconds time) const;

 private:
  [[nodiscard]] bool receive();

  int socket_;
  std::string received_;
};

/// The answer to one request on its own connection. `more`: header lines, each with its "\r\n".
[[nodiscard]] HttpAnswer ask(std::uint16_t port, const std::string& method, const std::string& target,
                             const std::string& more = "", const std::string& body = "");

}  // namespace tilewright::testing
