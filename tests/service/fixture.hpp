// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/program.hpp"
#include "tests/service/http_client.hpp"
#include "tuner/service/service.hpp"

/// A service in this process, on a free port.
namespace tilewright::testing {

class RunningService {
 public:
  explicit RunningService(service::Settings settings);
  ~RunningService() { stop(); }
  /// Stops the service and waits for its end.
  void stop();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] HttpAnswer get(const std::string& target, const std::string& more = "") const {
    return ask(port_, "GET", target, more);
  }
  [[nodiscard]] HttpAnswer post(const std::string& target, const std::string& body,
                                const std::string& more = "") const {
    return ask(port_, "POST", target, "Content-Type: application/json\r\n" + more, body);
  }
  /// The events so far.
  [[nodiscard]] std::vector<nlohmann::json> events() const;

 private:
  mutable std::mutex mutex_;
  std::vector<nlohmann::json> events_;
  std::atomic<bool> stopping_ = false;
  std::unique_ptr<service::Service> service_;
  std::uint16_t port_;
  std::thread thread_;
};

/// A test with settings for its own cache.
class ServiceTest : public CliTest {
 protected:
  ServiceTest();

  service::Settings settings;
};

/// The message of the error that `work` throws; empty if it throws none.
template <class Work>
[[nodiscard]] std::string error_of(Work work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace tilewright::testing
