// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// HTTP requests and answers as values, between the server, which knows sockets, and the handlers.
namespace tilewright::service {

struct Request {
  std::string method;
  /// Path and query, still encoded.
  std::string target;
  /// Headers by lower-case name. If a name is repeated, the first value counts.
  std::map<std::string, std::string> headers;
  std::string body;
  /// The client's address, without the port.
  std::string peer;

  /// Empty if the header is absent.
  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

/// An answer that lasts as long as the client listens. For any thread.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Returns false once the client is disconnected, or was dropped as too slow.
  virtual bool write(std::shared_ptr<const std::string> text) = 0;
  /// Ends the stream after the texts written so far.
  virtual void end() = 0;
};

/// `bytes` bytes of a file, from its read position.
struct FileBody {
  std::shared_ptr<std::ifstream> file;
  std::uint64_t bytes = 0;
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers{};
  /// If set, there is no body; called once the header is sent, unless the method is HEAD.
  std::function<void(std::shared_ptr<Stream>)> stream{};
  /// If set, sent as the body.
  FileBody file{};

  [[nodiscard]] std::uint64_t size() const { return file.file ? file.bytes : body.size(); }
};

/// Sends the answer. Call it once, from any thread.
using Responder = std::function<void(Response)>;

}  // namespace tilewright::service
