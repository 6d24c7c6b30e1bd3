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

/// The service (docs/service.md): the use cases of tuner/app over HTTP, with the JSON of the command line.
namespace tilewright::service {

struct Settings {
  app::Place place;
  std::string bind = "127.0.0.1";
  /// 0: any that is free.
  std::uint16_t port = app::kServicePort;
  /// Requests that would change something are answered 403.
  bool read_only = false;
  /// A proxy in front speaks TLS with the clients and reports their addresses.
  bool behind_proxy = false;
  /// File of tokens; without it any client may do everything.
  std::optional<std::filesystem::path> tokens{};
  /// Set: the service itself speaks TLS.
  std::optional<TlsFiles> tls{};
  /// Per token or address; 0: no limit.
  double requests_per_second = 0;
  /// The devices that tune misses and campaigns: cpu, cuda:N, all; empty: these wait.
  std::vector<std::string> devices{};
  /// The folder of snapshots and channels; default: CACHE-channels.
  std::optional<std::filesystem::path> channels{};
  /// Public keys of the publishers; without it publishing is refused.
  std::optional<std::filesystem::path> publishers{};
  HttpLimits limits{};
};

/// Receives the service's events: objects whose "event" names the kind. Called by any thread, one at a time.
using Log = std::function<void(const nlohmann::ordered_json& event)>;

class Service {
 public:
  /// Listens at once. Throws UsageError if others can reach the address without tokens and TLS (Gate), and Error if
  /// another service has the cache or the address is not available.
  Service(const Settings& settings, Log log);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// "http://127.0.0.1:8470", "https://10.0.0.5:8470"
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::uint16_t port() const noexcept;
  /// Serves until `cancelled` (asked ten times a second) returns true, then answers requests under way for at most two
  /// seconds. False: a request is still at work, and the destructor waits for it; the process may be killed safely.
  bool run(const std::function<bool()>& cancelled);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright::service
