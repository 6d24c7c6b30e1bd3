// SPDX-License-Identifier: Apache-2.0
#include "tuner/process/channel.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cache/base/decode.hpp"

namespace tilewright {
namespace {

// The interval at which `interrupted` is asked.
constexpr std::chrono::milliseconds kChannelPatience{50};

}  // namespace

Message to_message(std::span<const std::byte> bytes) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return Message::binary({begin, begin + bytes.size()});
}

std::vector<std::byte> bytes_from(const Message& message) {
  const auto& binary = message.get_binary();
  const auto* begin = reinterpret_cast<const std::byte*>(binary.data());
  return {begin, begin + binary.size()};
}

bool Channel::send(const Message& message) const { return send(message, std::nullopt) == Received::message; }

Channel::Received Channel::send(const Message& message, std::optional<Clock::time_point> deadline,
                                const std::function<bool()>& interrupted) const {
  // Length and message go out in one send, so that the receiver wakes once.
  std::uint64_t length = 0;
  std::string bytes(sizeof length, '\0');
  Message::to_cbor(message, bytes);
  length = bytes.size() - sizeof length;
  std::memcpy(bytes.data(), &length, sizeof length);
  return send(bytes.data(), bytes.size(), deadline, interrupted);
}

Channel::Received Channel::send(const void* bytes, std::size_t count, std::optional<Clock::time_point> deadline,
                                const std::function<bool()>& interrupted) const {
  const char* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t sent = ::send(socket_.get(), next, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (const Received ready = await(POLLOUT, deadline, interrupted); ready != Received::message) return ready;
      continue;
    }
    if (sent <= 0) return Received::end;
    next += sent;
    count -= static_cast<std::size_t>(sent);
  }
  return Received::message;
}

Channel::Received Channel::await(short events, std::optional<Clock::time_point> deadline,
                                 const std::function<bool()>& interrupted) const {
  for (;;) {
    if (interrupted && interrupted()) return Received::interrupted;
    std::chrono::milliseconds patience = interrupted ? kChannelPatience : std::chrono::milliseconds(-1);
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
      if (left.count() <= 0) return Received::late;
      patience = interrupted ? std::min(patience, left) : left;
    }
    pollfd socket{socket_.get(), events, 0};
    const int ready = ::poll(&socket, 1, static_cast<int>(patience.count()));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return Received::message;
  }
}

Channel::Received Channel::receive(Message& message, std::optional<Clock::time_point> deadline,
                                   const std::function<bool()>& interrupted) const {
  std::uint64_t length = 0;
  if (const Received got = receive(&length, sizeof length, deadline, interrupted); got != Received::message) return got;
  if (length > kMostDecodedBytes) return Received::garbled;
  std::string bytes(length, '\0');
  const Received got = receive(bytes.data(), length, deadline, interrupted);
  if (got != Received::message) return got;
  try {
    message = decode_cbor(std::as_bytes(std::span(bytes))).take();
  } catch (const UsageError&) {
    return Received::garbled;
  }
  return message.is_object() ? Received::message : Received::garbled;
}

Channel::Received Channel::receive(void* bytes, std::size_t count, std::optional<Clock::time_point> deadline,
                                   const std::function<bool()>& interrupted) const {
  char* next = static_cast<char*>(bytes);
  while (count > 0) {
    if (const Received ready = await(POLLIN, deadline, interrupted); ready != Received::message) return ready;
    const ssize_t got = ::recv(socket_.get(), next, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Received::end;
    next += got;
    count -= static_cast<std::size_t>(got);
  }
  return Received::message;
}

}  // namespace tilewright
