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
  /// The promoter's.
  std::filesystem::path key;
  /// Public keys of those whose snapshots may be promoted; nothing: the key's own.
  std::optional<std::filesystem::path> publishers{};
  std::string from = "candidate";
  std::string to = "stable";
  GateRule rule{};
  bool accept_undecided = false;
};

struct Promoted {
  /// Against the snapshot of `to`; nothing where it had none, or this one.
  std::optional<GateReport> report;
  /// Nothing: the gate does not let it pass.
  std::optional<SignedManifest> now;
};

/// Measures nothing. Throws Error where there is no such channel, or a manifest or snapshot of it is not to be trusted.
[[nodiscard]] Promoted promote(const PromoteRequest& request);

}  // namespace tilewright::app
