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

/// `tilewright serve` as a process of its own, which may be killed.
namespace tilewright::testing {

class ProgramService {
 public:
  /// `options` behind `serve --port 0`; what it says lies in `folder`.
  ProgramService(const std::filesystem::path& folder, const std::vector<std::string>& options);
  /// Ctrl-C, where it still runs.
  ~ProgramService();
  ProgramService(const ProgramService&) = delete;
  ProgramService& operator=(const ProgramService&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Sends the signal and waits for the end; the exit code, 128 + N when signal N ended it.
  int end(int signal);
  /// No file of it grows beyond so many bytes from now on, as on a full disk; 0: they may again.
  void fill_disk(std::size_t most_file_bytes) const;
  /// What it has logged.
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

/// Whether it comes true in a minute.
[[nodiscard]] bool comes(const std::function<bool()>& what);

}  // namespace tilewright::testing
