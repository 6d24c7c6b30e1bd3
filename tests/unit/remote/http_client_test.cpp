// SPDX-License-Identifier: Apache-2.0
// The client with servers that a test scripts.
#include "tuner/remote/http_client.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "tuner/remote/unreachable.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

/// Answers each request with the next text, one connection at a time. "" closes the connection instead, a trailing "!"
/// closes it after the text, and "silence" answers nothing until the client leaves.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<std::string> answers) : answers_(std::move(answers)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~ScriptedServer() {
    done_ = true;
    thread_.join();
    ::close(listener_);
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  /// The headers of the requests.
  [[nodiscard]] std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  [[nodiscard]] bool is_ready(int socket) const {
    while (!done_) {
      pollfd ready{socket, POLLIN, 0};
      if (::poll(&ready, 1, 20) > 0) return true;
    }
    return false;
  }
  void run() {
    std::size_t next = 0;
    while (is_ready(listener_)) {
      const int socket = ::accept(listener_, nullptr, nullptr);
      while (next < answers_.size() && read_header(socket)) {
        std::string answer = answers_[next++];
        if (answer == "silence") {
          static_cast<void>(is_ready(socket));
          break;
        }
        const bool ends = answer.empty() || answer.ends_with("!");
        if (answer.ends_with("!")) answer.pop_back();
        static_cast<void>(::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL));
        if (ends) break;
      }
      ::close(socket);
    }
  }
  bool read_header(int socket) {
    std::string text;
    while (text.find("\r\n\r\n") == std::string::npos) {
      std::array<char, 4096> block{};
      if (!is_ready(socket)) return false;
      const ssize_t count = ::recv(socket, block.data(), block.size(), 0);
      if (count <= 0) return false;
      text.append(block.data(), static_cast<std::size_t>(count));
    }
    const std::lock_guard lock(mutex_);
    asked_.push_back(text);
    return true;
  }

  std::vector<std::string> answers_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> done_ = false;
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
  std::thread thread_;
};

std::string answer(const std::string& body, const std::string& more = "", int status = 200) {
  return fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(), more, body);
}

class Clients : public ::testing::Test {
 protected:
  Clients() {
    for (const char* name : {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}) ::unsetenv(name);
  }
  ~Clients() override { ::unsetenv("http_proxy"); }
  [[nodiscard]] static HttpAnswer ask(const std::string& url, ClientSettings how = {}) {
    how.patience = std::chrono::seconds(5);
    HttpClient client(parse_url(url), std::move(how));
    return client.ask("GET", "/path");
  }
};

TEST_F(Clients, take_bodies_by_length_by_chunks_and_to_the_end) {
  const ScriptedServer server({answer("one"),
                               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n2\r\n!!\r\n0\r\n\r\n",
                               "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nthree!", answer("", "", 404)});
  HttpClient client(parse_url(server.url()), {});
  EXPECT_EQ(client.ask("GET", "/").body, "one");
  EXPECT_EQ(client.ask("GET", "/").body, "two!!");
  EXPECT_EQ(client.ask("GET", "/").body, "three");
  EXPECT_EQ(client.ask("GET", "/").status, 404);
}

TEST_F(Clients, send_a_token_where_it_is_safe) {
  const ScriptedServer server({answer("")});
  EXPECT_EQ(ask(server.url() + "/base", {.token = "tw_1"}).status, 200);
  EXPECT_THAT(server.asked().at(0), StartsWith("GET /base/path HTTP/1.1\r\n"));
  EXPECT_THAT(server.asked().at(0), HasSubstr("Authorization: Bearer tw_1\r\n"));
  EXPECT_THAT([] { static_cast<void>(ask("http://tuning.example", {.token = "tw_1"})); },
              ThrowsMessage<UsageError>(HasSubstr("a token sent without TLS can be read")));
}

TEST_F(Clients, ask_a_proxy_for_the_whole_address_and_through_a_tunnel_for_tls) {
  const ScriptedServer proxy({answer("by proxy"), answer("", "", 407)});
  ::setenv("http_proxy", ("http://me:word@" + proxy.url().substr(7)).c_str(), 1);
  ::setenv("https_proxy", proxy.url().c_str(), 1);
  EXPECT_EQ(ask("http://tuning.example:81").body, "by proxy");
  EXPECT_THAT(proxy.asked().at(0),
              StartsWith("GET http://tuning.example:81/path HTTP/1.1\r\nHost: tuning.example:81\r\n"));
  EXPECT_THAT(proxy.asked().at(0), HasSubstr("Proxy-Authorization: Basic bWU6d29yZA==\r\n"));
  EXPECT_THAT([] { static_cast<void>(ask("https://tuning.example", {.token = "tw_1"})); },
              ThrowsMessage<Unreachable>(HasSubstr("answers 407 to CONNECT")));
  EXPECT_THAT(proxy.asked().at(1), StartsWith("CONNECT tuning.example:443 HTTP/1.1\r\n"));
  EXPECT_THAT(proxy.asked().at(1), Not(HasSubstr("tw_1")));
  ::unsetenv("https_proxy");
}

TEST_F(Clients, ask_again_where_a_kept_connection_has_ended_and_never_else) {
  const ScriptedServer server({answer("one") + "!", answer("two"), "", answer("four")});
  HttpClient client(parse_url(server.url()), {});
  EXPECT_EQ(client.ask("GET", "/1").body, "one");
  EXPECT_EQ(client.ask("GET", "/2").body, "two");
  EXPECT_EQ(client.ask("GET", "/3").body, "four") << "on a new connection";
  const ScriptedServer silent({""});
  EXPECT_THAT([&] { static_cast<void>(ask(silent.url())); }, ThrowsMessage<Unreachable>(HasSubstr("has ended")));
  EXPECT_EQ(silent.asked().size(), 1U);
}

TEST_F(Clients, what_may_have_been_done_is_not_asked_for_twice) {
  const ScriptedServer slow({answer("one"), "silence", answer("three")});
  HttpClient late(parse_url(slow.url()), {.patience = std::chrono::milliseconds(300)});
  EXPECT_EQ(late.ask("GET", "/1").body, "one");
  EXPECT_THROW(static_cast<void>(late.ask("GET", "/2")), TimedOut);
  EXPECT_EQ(slow.asked().size(), 2U);
  const ScriptedServer ending({answer("one"), "", answer("three"), "", answer("five")});
  HttpClient client(parse_url(ending.url()), {});
  EXPECT_EQ(client.ask("GET", "/1").body, "one");
  EXPECT_THROW(static_cast<void>(client.ask("POST", "/2")), Unreachable) << "on a connection of its own";
  EXPECT_EQ(client.ask("GET", "/3").body, "three");
  EXPECT_EQ(client.ask("POST", "/4", {{"Idempotency-Key", "a"}}).body, "five");
  EXPECT_EQ(ending.asked().size(), 5U);
}

TEST_F(Clients, a_body_that_breaks_off_is_no_answer_and_is_not_asked_for_again) {
  const ScriptedServer server({answer("one"), "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234!", answer("two")});
  HttpClient client(parse_url(server.url()), {});
  EXPECT_EQ(client.ask("GET", "/").body, "one");
  std::string taken;
  const auto take = [&](const HttpAnswer&, std::string_view bytes) { taken += bytes; };
  EXPECT_THROW(static_cast<void>(client.ask("GET", "/", {}, {}, take)), Unreachable);
  EXPECT_EQ(taken, "01234");
  EXPECT_EQ(server.asked().size(), 2U);
}

TEST_F(Clients, what_is_no_http_or_too_long_is_refused) {
  const ScriptedServer server(
      {"nothing of the kind\r\n\r\n!", answer("x", fmt::format("Y: {}\r\n", std::string(20'000, 'y'))) + "!",
       "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n!", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n!",
       answer(std::string((std::size_t{8} << 20) + 1, 'x')) + "!"});
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT([&] { static_cast<void>(ask(server.url())); }, ThrowsMessage<Error>(HasSubstr("is not HTTP/1.1"))) << i;
  }
  EXPECT_THAT([&] { static_cast<void>(ask(server.url())); },
              ThrowsMessage<Error>(HasSubstr("more than 8388608 bytes")));
}

TEST_F(Clients, wait_no_longer_than_they_may) {
  // The listener accepts the connection and does not answer.
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string url = fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port));
  HttpClient late(parse_url(url), {.patience = std::chrono::milliseconds(300)});
  EXPECT_THAT([&] { static_cast<void>(late.ask("GET", "/")); },
              ThrowsMessage<Unreachable>(HasSubstr("has not answered")));
  HttpClient cancelled(parse_url(url), {.cancelled = [] { return true; }});
  EXPECT_THAT([&] { static_cast<void>(cancelled.ask("GET", "/")); },
              ThrowsMessage<Unreachable>(HasSubstr("interrupted")));
  ::close(listener);
}

TEST_F(Clients, say_what_a_service_says) {
  HttpAnswer refused{403, {{"content-type", "application/problem+json"}}, R"({"detail": "no", "next": "Ask."})"};
  EXPECT_EQ(refusal_text(refused), "no. Ask.");
  refused.body = "{";
  EXPECT_EQ(refusal_text(refused), "it answers with status 403");
  refused.body = R"({"detail": 7})";
  EXPECT_EQ(refusal_text(refused), "it answers with status 403");
}

}  // namespace
}  // namespace tilewright
