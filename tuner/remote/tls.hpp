// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// TLS of a client: certificates are judged, and names, always.
namespace tilewright {

/// Moves bytes of TLS between it and a socket: read waits for some and gives "" at the end.
struct TlsTransport {
  std::function<std::string()> read;
  std::function<void(std::string_view)> write;
};

class TlsClient {
 public:
  /// Shakes hands with `host`. `authorities`: certificates that are trusted instead of the system's. Throws Error for a
  /// certificate that is not trusted or is of another host.
  TlsClient(const std::string& host, const std::optional<std::filesystem::path>& authorities, TlsTransport transport);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  /// Some bytes, at most `size`; 0 at the end.
  std::size_t read(char* to, std::size_t size);
  void write(std::string_view bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright
