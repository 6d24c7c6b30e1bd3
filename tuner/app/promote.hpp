// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "tuner/app/place.hpp"
#include "tuner/app/remote_place.hpp"
#include "tuner/report/gate_table.hpp"

/// Points a channel at another channel's snapshot, unless that makes something slower.
namespace tilewright::app {

struct PromoteRequest {
  RemotePlace at;
  /// The promoter's private key.
  std::filesystem::path key;
  /// Public keys of the publishers whose snapshots may be promoted; nullopt: the key's own.
  std::optional<std::filesystem::path> publishers{};
  std::string from = "candidate";
  std::string to = "stable";
  GateRule rule{};
  bool accept_undecided = false;
};

struct Promoted {
  /// The gate against the snapshot of `to`; nullopt if `to` had no snapshot, or this one.
  std::optional<GateReport> report;
  /// The manifest of `to`; nullopt if the gate refuses.
  std::optional<SignedManifest> now;
};

/// Measures nothing. Throws Error if the channel does not exist, or its manifest or snapshot cannot be trusted.
[[nodiscard]] Promoted promote(const PromoteRequest& request);

}  // namespace tilewright::app
