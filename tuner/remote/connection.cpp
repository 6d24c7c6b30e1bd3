// SPDX-License-Identifier: Apache-2.0
#include "tuner/remote/connection.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "tuner/remote/unreachable.hpp"

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

std::string text_of(int code) { return std::system_category().message(code); }

}  // namespace

Connection::Connection(const std::string& host, std::uint16_t port, Waiting waiting)
    : name_(fmt::format("{} port {}", host, port)), waiting_(std::move(waiting)) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  if (failure != 0) throw Unreachable(fmt::format("{} has no address: {}", host, ::gai_strerror(failure)));
  std::string why;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    socket_ = Descriptor(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_) continue;
    int code = ::connect(socket_.get(), each->ai_addr, each->ai_addrlen) == 0 ? 0 : errno;
    if (code == EINPROGRESS) {
      try {
        wait(POLLOUT);
        socklen_t size = sizeof code;
        ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &size);
      } catch (const TimedOut&) {
        code = ETIMEDOUT;
      }
    }
    if (code == 0) {
      const int on = 1;
      ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return;
    }
    why = text_of(code);
  }
  throw Unreachable(fmt::format("{} cannot be reached: {}", name_, why.empty() ? "no socket can be made" : why));
}

void Connection::start_tls(const std::string& host, const std::optional<std::filesystem::path>& authorities) {
  TlsTransport transport;
  transport.read = [this] {
    std::string block(std::size_t{32} << 10, '\0');
    block.resize(receive(block.data(), block.size()));
    return block;
  };
  transport.write = [this](std::string_view bytes) { send(bytes); };
  tls_ = std::make_unique<TlsClient>(host, authorities, std::move(transport));
}

std::size_t Connection::read(char* to, std::size_t size) { return tls_ ? tls_->read(to, size) : receive(to, size); }

void Connection::write(std::string_view bytes) { tls_ ? tls_->write(bytes) : send(bytes); }

bool Connection::is_cancelled() const { return waiting_.cancelled && waiting_.cancelled(); }

// Also called before each transfer: while data flow, wait() is not reached.
void Connection::require_going_on() const {
  if (is_cancelled()) throw Interrupted("it was interrupted");
}

std::size_t Connection::receive(char* to, std::size_t size) {
  require_going_on();
  for (;;) {
    const ssize_t count = ::recv(socket_.get(), to, size, 0);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EINTR) continue;
    if (errno != EAGAIN) throw Unreachable(fmt::format("{} has ended the connection: {}", name_, text_of(errno)));
    wait(POLLIN);
  }
}

void Connection::send(std::string_view bytes) const {
  require_going_on();
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      wait(POLLOUT);
    } else if (errno != EINTR) {
      throw Unreachable(fmt::format("{} has ended the connection: {}", name_, text_of(errno)));
    }
  }
}

void Connection::wait(short events) const {
  const Clock::time_point end = Clock::now() + waiting_.patience;
  for (;;) {
    pollfd ready{socket_.get(), events, 0};
    if (::poll(&ready, 1, 100) > 0) return;
    require_going_on();
    if (Clock::now() < end) continue;
    throw TimedOut(fmt::format("{} has not answered in {} s", name_,
                               std::chrono::duration_cast<std::chrono::seconds>(waiting_.patience).count()));
  }
}

}  // namespace tilewright
