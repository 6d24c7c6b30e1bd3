// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/service/http_client.hpp"

/// `tilewright serve` as its own process, which tests may kill.
namespace tilewright::testing {

class ProgramService {
 public:
  /// Starts `serve --port 0` with `options`; its output goes to `folder`.
  ProgramService(const std::filesystem::path& folder, const std::vector<std::string>& options);
  /// Sends Ctrl-C if the process still runs.
  ~ProgramService();
  ProgramService(const ProgramService&) = delete;
  ProgramService& operator=(const ProgramService&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Sends the signal and waits for the end. Returns the exit code; 128 + N if signal N ended the process.
  int end(int signal);
  /// Limits the size of the process's files from now on, as on a full disk; 0: no limit.
  void fill_disk(std::size_t most_file_bytes) const;
  /// The log so far.
  [[nodiscard]] std::string log() const;

  [[nodiscard]] HttpAnswer get(const std::string& target) const { return ask(port_, "GET", target); }
  [[nodiscard]] HttpAnswer post(const std::string& target, const std::string& body,
                                const std::string& more = "") const {
    return ask(port_, "POST", target, "Content-Type: application/json\r\n" + more, body);
  }

 private:
  std::filesystem::path folder_;
  pid_t process_ = 0;
  std::uint16_t port_ = 0;
};

/// Waits up to a minute until `what` is true; returns whether it is.
[[nodiscard]] bool comes(const std::function<bool()>& what);

}  // namespace tilewright::testing
