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

/// HTTP/1.1 on one address: one thread for all connections, which hands whole requests on and waits for nobody. Knows
/// limits and no paths. The only file that includes Boost.Beast is its source.
namespace tilewright::service {

struct HttpLimits {
  std::size_t header_bytes = std::size_t{16} << 10;
  std::size_t body_bytes = std::size_t{1} << 20;
  std::size_t connections = 4096;
  /// Bytes of text that a client of a stream has not taken; then the server drops it.
  std::size_t stream_bytes = std::size_t{1} << 20;
  /// From a request's first byte to its last: slow clients are answered 408.
  std::chrono::milliseconds request_time{10'000};
  /// Between two requests of a connection.
  std::chrono::milliseconds idle_time{60'000};
  /// The longest time for a client to take an answer.
  std::chrono::milliseconds write_time{60'000};
};

/// The files of TLS, as PEM: the certificate with those between it and a root, and its private key.
struct TlsFiles {
  std::filesystem::path certificate;
  std::filesystem::path key;
};

class HttpServer {
 public:
  using Handler = std::function<void(Request, Responder)>;

  /// Listens from now on; `port` 0: any that is free. `handler` is called by the thread of run(). Throws Error that
  /// says what to type when the address cannot be had.
  /// `tls` given, whoever speaks no TLS is not answered; files that change are read again, and where they cannot be,
  /// those before stay, and `told` hears of it. Throws UsageError for files that are none.
  HttpServer(const std::string& address, std::uint16_t port, const HttpLimits& limits,
             const std::optional<TlsFiles>& tls, Handler handler, std::function<void(const std::string&)> told = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept;
  /// Serves until stop() and the end of what is under way. `tick` is called about ten times a second.
  void run(const std::function<void()>& tick);
  /// Nobody new is served; requests under way are answered, in `grace` at most; streams end. For any thread.
  void stop(std::chrono::milliseconds grace);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// True for an address that only this machine can reach: 127.0.0.0/8 or ::1.
[[nodiscard]] bool is_loopback(const std::string& address);

}  // namespace tilewright::service
