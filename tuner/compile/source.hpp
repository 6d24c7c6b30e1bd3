// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/plan/plan.hpp"
#include "tuner/definition/definition.hpp"

/// From a config to the text that a compiler sees: fixed includes, then `struct Config` with the parameters, attributes
/// and specialised dims as named constants, then the implementation's source (docs/definitions.md shows one).
namespace tilewright {

struct GeneratedSource {
  std::string text;
  /// For messages: "softmax_onchip.cu".
  std::string name;
  /// Kernel templates to instantiate with `tilewright_generated::Config`, each once.
  std::vector<std::string> entries;
  /// For a profiler's timeline: problem and config, or "reference". The binary does not depend on it; where several
  /// problems share that, it is the one that asked first.
  std::string label = {};
};

/// The kernels of `plan` for one config, and those that the config may launch for another shape or device: a binary
/// without constant dims serves them, too. Dims that the config specialises take the problem's values, all others 0; so
/// a config without them gives the same result for all shapes. Throws UsageError when the path of the source cannot
/// stand in an #include (quotes, backslashes, line breaks).
[[nodiscard]] GeneratedSource generate_source(const OpDefinition& definition, const Implementation& implementation,
                                              const Config& config, const Problem& problem, const LaunchPlan& plan);

/// The op's reference kernel for one dtype and attribute set; no dim is specialised.
[[nodiscard]] GeneratedSource generate_reference(const OpDefinition& definition, const Problem& problem);

/// The key of a binary besides compiler, architecture and options: generated text, kernels, and the implementation's
/// hash, which stands for the source wherever that lies. Problems with one key share one binary. 32 hexadecimal digits.
[[nodiscard]] std::string source_key(const GeneratedSource& source, const std::string& implementation_hash);

}  // namespace tilewright
