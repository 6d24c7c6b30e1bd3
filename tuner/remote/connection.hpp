// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cache/base/descriptor.hpp"
#include "tuner/remote/tls.hpp"

namespace tilewright {

/// A TCP connection, within TLS after start_tls(). Each wait ends after `patience`, or once `cancelled` returns true.
/// Throws Unreachable on network errors and cancellation, TimedOut after `patience`. One thread.
class Connection {
 public:
  struct Waiting {
    std::chrono::milliseconds patience;
    /// Asked ten times a second; true ends the wait.
    std::function<bool()> cancelled;
  };
  Connection(const std::string& host, std::uint16_t port, Waiting waiting);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start_tls(const std::string& host, const std::optional<std::filesystem::path>& authorities);
  /// Reads 1 to `size` bytes; returns 0 at the end.
  std::size_t read(char* to, std::size_t size);
  void write(std::string_view bytes);

 private:
  std::size_t receive(char* to, std::size_t size);
  void send(std::string_view bytes) const;
  void wait(short events) const;
  [[nodiscard]] bool is_cancelled() const;
  void require_going_on() const;

  const std::string name_;
  const Waiting waiting_;
  Descriptor socket_;
  std::unique_ptr<TlsClient> tls_;
};

}  // namespace tilewright
