// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/app/device_session.hpp"

/// Compares a config with its op's reference, on two sets of inputs.
namespace tilewright::app {

/// One compared output of a config, or a config without compared outputs.
struct CheckedOutput {
  std::string problem;
  std::string config;
  std::optional<OutputErrors> errors;
  TrialStatus status = TrialStatus::ok;
  /// Empty if the output is right.
  std::string reason;
};

/// The outputs, or one line that tells why none was compared; empty if cancelled.
[[nodiscard]] std::vector<CheckedOutput> check_config(DeviceSession& session, const OpDefinition& definition,
                                                      const Problem& problem, const Candidate& candidate,
                                                      const Listener& listener);

/// "STATUS: REASON" if the config fails or is wrong on one set of inputs; empty if it is right. Meaningless after an
/// interrupt.
[[nodiscard]] std::string failure_of(ConfigRunner& runner, const CompiledConfig& config);

}  // namespace tilewright::app
