// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tuner/app/place.hpp"
#include "tuner/app/service_lock.hpp"
#include "tuner/service/http_server.hpp"

/// The service (docs/service.md): the use cases of tuner/app over HTTP, each with the very JSON of the command line.
namespace tilewright::service {

struct Settings {
  app::Place place;
  std::string bind = "127.0.0.1";
  /// 0: any that is free.
  std::uint16_t port = app::kServicePort;
  /// Every request that would change something is answered 403, and nothing is written.
  bool read_only = false;
  /// A proxy in front speaks TLS with the clients, and tells their addresses.
  bool behind_proxy = false;
  /// Nothing: all who reach the address may do everything.
  std::optional<std::filesystem::path> tokens{};
  /// TLS on the address itself.
  std::optional<TlsFiles> tls{};
  /// Of one token or address; 0: no limit.
  double requests_per_second = 0;
  /// The devices that tune misses and campaigns: cpu, cuda:N, all; none: they wait.
  std::vector<std::string> devices{};
  /// The folder of snapshots and channels; nothing: CACHE-channels.
  std::optional<std::filesystem::path> channels{};
  /// Public keys of those who may publish; nothing: nobody may.
  std::optional<std::filesystem::path> publishers{};
  HttpLimits limits{};
};

/// Hears of the service's events: objects whose "event" names the kind. Told by any thread, one at a time.
using Log = std::function<void(const nlohmann::ordered_json& event)>;

class Service {
 public:
  /// Listens from now on. Throws UsageError for an address that others can reach without what that needs, Error where
  /// another service has the cache, or the address cannot be had.
  Service(const Settings& settings, Log log);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// "http://127.0.0.1:8470", "https://10.0.0.5:8470"
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::uint16_t port() const noexcept;
  /// Serves until `cancelled`, which is asked often; then what is under way is answered, within two seconds.
  /// False: a request is at work still, for which the destructor waits. What it does is safe to be killed.
  bool run(const std::function<bool()>& cancelled);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright::service
