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

/// Requests and answers of HTTP as values: handlers know no sockets, and the server knows no handlers.
namespace tilewright::service {

struct Request {
  std::string method;
  /// As sent: path and query.
  std::string target;
  /// Headers by lower-case name. Of a name that is sent more than once the first counts.
  std::map<std::string, std::string> headers;
  std::string body;
  /// Address of the client, without the port.
  std::string peer;

  /// Empty where there is none.
  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

/// An answer that goes on for as long as the client listens. For any thread.
class Stream {
 public:
  virtual ~Stream() = default;
  /// False once the client is gone, or is so slow that it is let go of.
  virtual bool write(std::shared_ptr<const std::string> text) = 0;
  /// The client gets what was written, then the end.
  virtual void end() = 0;
};

/// So much of a file, from where it stands.
struct FileBody {
  std::shared_ptr<std::ifstream> file;
  std::uint64_t bytes = 0;
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers{};
  /// If set, it is called once the header is on its way, and there is no body.
  std::function<void(std::shared_ptr<Stream>)> stream{};
  /// If set, it is the body.
  FileBody file{};

  [[nodiscard]] std::uint64_t size() const { return file.file ? file.bytes : body.size(); }
};

/// To be called once, by any thread.
using Responder = std::function<void(Response)>;

}  // namespace tilewright::service
