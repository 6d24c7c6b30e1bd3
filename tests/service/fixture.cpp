// SPDX-License-Identifier: Apache-2.0
#include "tests/service/fixture.hpp"

#include <utility>

#include "tests/cli/demo_cache.hpp"

namespace tilewright::testing {

RunningService::RunningService(service::Settings settings) {
  settings.port = 0;
  service_ = std::make_unique<service::Service>(settings, [this](const nlohmann::ordered_json& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  });
  port_ = service_->port();
  thread_ = std::thread([this] { service_->run([this] { return stopping_.load(); }); });
}

void RunningService::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  service_.reset();
}

std::vector<nlohmann::json> RunningService::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

ServiceTest::ServiceTest() {
  fill_demo_cache(cache(), 3);
  settings.place.cache = cache();
}

}  // namespace tilewright::testing
