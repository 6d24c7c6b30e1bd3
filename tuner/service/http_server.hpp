// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tuner/service/message.hpp"

/// HTTP/1.1 on one address. One thread serves all connections: it passes complete requests on and does not block.
/// Knows limits, not paths. In this folder, only its source includes Boost.Beast.
namespace tilewright::service {

struct HttpLimits {
  std::size_t header_bytes = std::size_t{16} << 10;
  std::size_t body_bytes = std::size_t{1} << 20;
  std::size_t connections = 4096;
  /// Unsent bytes of a stream at which the server drops the client.
  std::size_t stream_bytes = std::size_t{1} << 20;
  /// From a request's first byte to its last; a slower client gets 408.
  std::chrono::milliseconds request_time{10'000};
  /// From one request of a connection to the next.
  std::chrono::milliseconds idle_time{60'000};
  /// For a client to take an answer, or one block of a file or stream.
  std::chrono::milliseconds write_time{60'000};
};

/// The PEM files of TLS: the certificate chain and its private key.
struct TlsFiles {
  std::filesystem::path certificate;
  std::filesystem::path key;
};

class HttpServer {
 public:
  using Handler = std::function<void(Request, Responder)>;

  /// Listens at once; `port` 0 takes a free one. The thread of run() calls `handler`. Throws Error if the address is
  /// not available. With `tls` only TLS is served. Changed files are read again; if that fails, the previous ones stay
  /// in force and `told` hears why. Throws UsageError if they hold no certificate or no matching key.
  HttpServer(const std::string& address, std::uint16_t port, const HttpLimits& limits,
             const std::optional<TlsFiles>& tls, Handler handler, std::function<void(const std::string&)> told = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept;
  /// Serves until stop() is called and requests under way are answered. Calls `tick` about ten times a second.
  void run(const std::function<void()>& tick);
  /// Refuses new connections, ends streams, and gives requests under way at most `grace`. For any thread.
  void stop(std::chrono::milliseconds grace);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Whether only this machine can reach the address: 127.0.0.0/8 or ::1. Throws UsageError if it is no IP address.
[[nodiscard]] bool is_loopback(const std::string& address);

}  // namespace tilewright::service
