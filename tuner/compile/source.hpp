// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/plan/plan.hpp"
#include "tuner/definition/definition.hpp"

/// Generates the text that a compiler sees: fixed includes, then `struct Config` with the parameters, attributes and
/// specialised dims as named constants, then the implementation's source (docs/definitions.md shows one). Pure.
namespace tilewright {

struct GeneratedSource {
  std::string text;
  /// For messages, such as "softmax_onchip.cu".
  std::string name;
  /// Kernel templates to instantiate with `tilewright_generated::Config`, each once.
  std::vector<std::string> entries;
  /// For a profiler's timeline: problem and config, or "reference". Not part of the binary; if several problems share
  /// one, the first to ask sets the label.
  std::string label = {};
};

/// The kernels of `plan`, and those that the config may launch for other shapes or devices, which share a binary
/// without constant dims. Specialised dims have the problem's values, all others 0; so a config without them gives the
/// same text for all shapes. Throws UsageError if the source's path cannot be written in an #include (quotes,
/// backslashes, line breaks).
[[nodiscard]] GeneratedSource generate_source(const OpDefinition& definition, const Implementation& implementation,
                                              const Config& config, const Problem& problem, const LaunchPlan& plan);

/// The op's reference kernel for one dtype and attribute set, without specialised dims.
[[nodiscard]] GeneratedSource generate_reference(const OpDefinition& definition, const Problem& problem);

/// A binary's key without compiler, architecture and options: generated text, kernels, and the implementation's hash
/// instead of the source's path. Problems with one key share one binary. 32 hexadecimal digits.
[[nodiscard]] std::string source_key(const GeneratedSource& source, const std::string& implementation_hash);

}  // namespace tilewright
