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

/// A connection of TCP, within TLS once that was begun. Every wait has an end: `patience`, or the moment when
/// `cancelled` says so. Throws Unreachable for whatever the network does, TimedOut where nothing comes. One thread.
class Connection {
 public:
  struct Waiting {
    std::chrono::milliseconds patience;
    /// Asked ten times a second.
    std::function<bool()> cancelled;
  };
  Connection(const std::string& host, std::uint16_t port, Waiting waiting);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start_tls(const std::string& host, const std::optional<std::filesystem::path>& authorities);
  /// Some bytes, at most `size`; 0 at the end.
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
