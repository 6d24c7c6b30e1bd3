// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "tuner/definition/definition.hpp"
#include "tuner/process/channel.hpp"
#include "tuner/sweep/config_runner.hpp"

/// The messages between a sweep and the process that has its device, as values. Both ends are one program, so a
/// message needs no version; what does not fit throws what understand() (tuner/process/channel.hpp) expects.
///
/// The worker may begin with a sight: which GPU it is about to open. Then comes its greeting: which device it has
/// opened. Then the parent asks and the worker answers, one thing at a time: {"do": "set_up" | "run" |
/// "time_together" | "time" | "verify" | "check_again" | "memcpy" | "release", …}. Before an answer may come beats, by
/// which the worker shows that it gets on. An answer is what was asked for, or what was thrown.
namespace tilewright {

/// Of a definition, what verifying and measuring need: all but spaces and grids.
[[nodiscard]] Message to_message(const OpDefinition& definition);
[[nodiscard]] OpDefinition definition_from(const Message& message);

[[nodiscard]] Message to_message(std::span<const std::byte> bytes);
[[nodiscard]] std::vector<std::byte> bytes_from(const Message& message);
[[nodiscard]] Message to_message(const std::vector<KernelFacts>& kernels);
[[nodiscard]] std::vector<KernelFacts> kernels_from(const Message& message);
[[nodiscard]] Message to_message(const StopRule& rule);
[[nodiscard]] StopRule rule_from(const Message& message);
[[nodiscard]] Message to_message(const Timing& timing);
[[nodiscard]] Timing timing_from(const Message& message);

/// The reference's binary.
[[nodiscard]] Message to_message(const CompileResult& reference);
[[nodiscard]] CompileResult reference_from(const Message& message);

/// A config with the binary that it runs; read back, the build has no more than its kernels.
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

/// Of a trial, what the device says: status, reason, timing, accuracy, phases and readings.
[[nodiscard]] Message to_message(const Trial& trial);
/// Sets these in `trial`.
void read_trial(const Message& message, Trial& trial);

[[nodiscard]] Message to_message(const Verdict& verdict);
[[nodiscard]] Verdict verdict_from(const Message& message);

/// A thrown error, by its kind. `lost`: the device answers no more.
[[nodiscard]] Message error_message(const std::exception& error, bool lost);
/// Throws it again, when the message is one.
void throw_if_error(const Message& message);

}  // namespace tilewright
