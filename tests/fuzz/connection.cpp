// SPDX-License-Identifier: Apache-2.0
// A client's bytes over a connection to a service, in two pieces: each answer is valid HTTP, and the service goes on
// answering others.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <thread>

#include "tests/fuzz/input.hpp"
#include "tuner/service/http_server.hpp"

namespace {

using namespace tilewright::service;
using std::chrono::milliseconds;

constexpr HttpLimits kLimits{.header_bytes = 2000,
                             .body_bytes = 2000,
                             .request_time = milliseconds(5000),
                             .idle_time = milliseconds(5000),
                             .write_time = milliseconds(5000)};

/// Answers each request with its content; as a stream if the target ends in `!`.
class Served {
 public:
  Served() : server_("127.0.0.1", 0, kLimits, {}, answer) {
    std::thread([this] { server_.run([] {}); }).detach();
  }
  [[nodiscard]] std::uint16_t port() const { return server_.port(); }

 private:
  static void answer(const Request& request, const Responder& responder) {
    if (request.body.size() > kLimits.body_bytes || request.headers.size() > kLimits.header_bytes) std::abort();
    Response response;
    response.body = request.method + request.target + request.body;
    if (request.target.ends_with('!')) {
      response.stream = [](const std::shared_ptr<Stream>& stream) {
        stream->write(std::make_shared<const std::string>("data: 1\n\n"));
        stream->end();
      };
    }
    responder(std::move(response));
  }

  HttpServer server_;
};

/// The service's answers until it closes the connection or an error occurs.
std::string exchange(std::uint16_t port, std::string_view first, std::string_view second) {
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Frees the port at once: a minute has more inputs than there are ports.
  const linger none{1, 0};
  ::setsockopt(client, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  while (::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EINTR) std::abort();  // libFuzzer's clock
  }
  for (const std::string_view piece : {first, second}) {
    static_cast<void>(::send(client, piece.data(), piece.size(), MSG_NOSIGNAL));
  }
  ::shutdown(client, SHUT_WR);
  std::string answers;
  std::array<char, 4096> block{};
  for (;;) {
    const ssize_t count = ::recv(client, block.data(), block.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    answers.append(block.data(), static_cast<std::size_t>(count));
  }
  ::close(client);
  return answers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Served& kServed = *new Served;
  if (size == 0 || size > 8000) return 0;
  const std::string_view text = tilewright::fuzz::text_of(data + 1, size - 1);
  const std::size_t cut = text.size() * data[0] / 255;
  const std::string answers = exchange(kServed.port(), text.substr(0, cut), text.substr(cut));
  if (!answers.empty() && !answers.starts_with("HTTP/1.")) std::abort();
  if (!exchange(kServed.port(), "GET / HTTP/1.0\r\n\r\n", "").starts_with("HTTP/1.0 200")) std::abort();
  return 0;
}
