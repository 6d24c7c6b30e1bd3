// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// The client's side of TLS 1.2 or later. Verifies the certificate and the host's name. One thread.
namespace tilewright {

/// Moves encrypted bytes to and from a socket. `read` waits for some bytes and returns "" at the end.
struct TlsTransport {
  std::function<std::string()> read;
  std::function<void(std::string_view)> write;
};

class TlsClient {
 public:
  /// Does the handshake with `host`. `authorities`: a PEM file of certificates to trust instead of the system's. Throws
  /// Error if the certificate is not trusted or names another host, Unreachable if the handshake fails otherwise.
  TlsClient(const std::string& host, const std::optional<std::filesystem::path>& authorities, TlsTransport transport);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  /// Reads 1 to `size` bytes; returns 0 at the end.
  std::size_t read(char* to, std::size_t size);
  void write(std::string_view bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright
