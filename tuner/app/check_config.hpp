// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/app/device_session.hpp"

/// A config compared with its op's reference, on two sets of inputs.
namespace tilewright::app {

/// One output of one config, or a config of which no output was compared.
struct CheckedOutput {
  std::string problem;
  std::string config;
  std::optional<OutputErrors> errors;
  TrialStatus status = TrialStatus::ok;
  /// Empty where it is right.
  std::string reason;
};

/// Its outputs, or one that tells why none was compared; none when cancelled.
[[nodiscard]] std::vector<CheckedOutput> check_config(DeviceSession& session, const OpDefinition& definition,
                                                      const Problem& problem, const Candidate& candidate,
                                                      const Listener& listener);

/// Why a config is wrong on one set of inputs, or fails, after its status; empty where it is right. Of no account when
/// interrupted.
[[nodiscard]] std::string failure_of(ConfigRunner& runner, const CompiledConfig& config);

}  // namespace tilewright::app
