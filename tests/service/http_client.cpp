// SPDX-License-Identifier: Apache-2.0
#include "tests/service/http_client.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace tilewright::testing {
namespace {

constexpr int kPatience = 10'000;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

}  // namespace

HttpClient::HttpClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << port;
}

HttpClient::~HttpClient() { ::close(socket_); }

void HttpClient::send(const std::string& text) const {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = ::send(socket_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (count <= 0) return;
    at += static_cast<std::size_t>(count);
  }
}

void HttpClient::finish() const { ::shutdown(socket_, SHUT_WR); }

bool HttpClient::receive() {
  pollfd ready{socket_, POLLIN, 0};
  if (::poll(&ready, 1, kPatience) <= 0) return false;
  std::array<char, 65'536> block{};
  const ssize_t count = ::recv(socket_, block.data(), block.size(), 0);
  if (count <= 0) return false;
  received_.append(block.data(), static_cast<std::size_t>(count));
  return true;
}

std::optional<HttpAnswer> HttpClient::read(bool has_body) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  while (received_.find(kEnd) == std::string::npos) {
    if (!receive()) return std::nullopt;
  }
  const std::string head = received_.substr(0, received_.find(kEnd));
  received_.erase(0, head.size() + kEnd.size());
  HttpAnswer answer;
  std::from_chars(head.data() + std::min<std::size_t>(9, head.size()), head.data() + head.size(), answer.status);
  for (std::size_t at = head.find("\r\n"); at != std::string::npos; at = head.find("\r\n", at + 2)) {
    const std::string line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) answer.headers.emplace(lower(line.substr(0, colon)), line.substr(colon + 2));
  }
  std::size_t length = 0;
  if (const auto found = answer.headers.find("content-length"); has_body && found != answer.headers.end()) {
    length = std::stoul(found->second);
  }
  while (received_.size() < length) {
    if (!receive()) return std::nullopt;
  }
  answer.body = received_.substr(0, length);
  received_.erase(0, length);
  return answer;
}

std::string HttpClient::read_until(const std::string& sign) {
  while (received_.find(sign) == std::string::npos) {
    if (!receive()) break;
  }
  return received_;
}

bool HttpClient::is_closed_within(std::chrono::milliseconds time) const {
  pollfd ready{socket_, POLLIN, 0};
  std::array<char, 256> block{};
  while (::poll(&ready, 1, static_cast<int>(time.count())) > 0) {
    if (::recv(socket_, block.data(), block.size(), 0) <= 0) return true;
  }
  return false;
}

HttpAnswer ask(std::uint16_t port, const std::string& method, const std::string& target, const std::string& more,
               const std::string& body) {
  HttpClient client(port);
  std::string text = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more;
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  client.send(text + "\r\n" + body);
  return client.read(method != "HEAD").value_or(HttpAnswer{});
}

}  // namespace tilewright::testing
