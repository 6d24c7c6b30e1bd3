// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include "tuner/definition/definition.hpp"
#include "tuner/process/channel.hpp"
#include "tuner/sweep/config_runner.hpp"

/// The messages between a sweep and its device's process, as values. Both ends are one program, so messages have no
/// version. Malformed messages throw the exceptions that understand() (tuner/process/channel.hpp) handles. Pure.
///
/// The worker may begin with a sight: the GPU that it is about to open. Then comes its greeting: the opened device.
/// Then the parent asks and the worker answers, one question at a time: {"do": "set_up" | "run" | "time_together" |
/// "time" | "verify" | "check_again" | "memcpy" | "release", …}. Beats may precede an answer: they show progress. An
/// answer is a result or an error.
namespace tilewright {

/// The parts of a definition that verifying and measuring need: all but spaces and grids.
[[nodiscard]] Message to_message(const OpDefinition& definition);
[[nodiscard]] OpDefinition definition_from(const Message& message);

[[nodiscard]] Message to_message(const std::vector<KernelFacts>& kernels);
[[nodiscard]] std::vector<KernelFacts> kernels_from(const Message& message);
[[nodiscard]] Message to_message(const StopRule& rule);
[[nodiscard]] StopRule rule_from(const Message& message);
[[nodiscard]] Message to_message(const Timing& timing);
[[nodiscard]] Timing timing_from(const Message& message);

/// The reference's binary.
[[nodiscard]] Message to_message(const CompileResult& reference);
[[nodiscard]] CompileResult reference_from(const Message& message);

/// A config with its binary. Read back, the build has only its kernels.
[[nodiscard]] Message to_message(const CompiledConfig& config);
struct OwnedCompiledConfig {
  Config config;
  Build build;
  std::vector<std::byte> binary;
  const Implementation* implementation = nullptr;
  [[nodiscard]] CompiledConfig view() const { return {implementation, config, &build, binary}; }
};
/// `definition` must outlive the result.
[[nodiscard]] OwnedCompiledConfig compiled_config_from(const Message& message, const OpDefinition& definition);

/// A trial's results from the device: status, reason, timing, accuracy, phases and readings.
[[nodiscard]] Message to_message(const Trial& trial);
/// Sets these in `trial`.
void read_trial(const Message& message, Trial& trial);

[[nodiscard]] Message to_message(const Verdict& verdict);
[[nodiscard]] Verdict verdict_from(const Message& message);

/// A thrown error with its kind. `lost`: the device no longer answers.
[[nodiscard]] Message error_message(const std::exception& error, bool lost);
/// Throws the error again if the message is one.
void throw_if_error(const Message& message);

}  // namespace tilewright
