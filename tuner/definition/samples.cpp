// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/samples.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tilewright {
namespace {

std::int64_t pitch_sample(const OpDefinition& definition, const std::string& name, const Problem& problem) {
  const SampleValue value = scalar_sample(definition, name, problem);
  const auto* whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? *whole : std::llround(std::get<double>(value));
}

[[noreturn]] void refuse_pitch(const OpDefinition& definition, const Problem& problem, const PlannedArg& arg,
                               const std::string& scalar, std::int64_t pitch) {
  Diagnostic mistake;
  mistake.file = definition.file.string();
  if (const auto found = definition.samples.find(scalar); found != definition.samples.end() && found->second.formula) {
    const SourcePlace& place = found->second.formula->place();
    if (!place.file.empty()) mistake.file = place.file;
    mistake.line = place.line;
    mistake.column = place.column;
  }
  mistake.message = fmt::format("the sample of '{}', the pitch of '{}', is {} for {}, less than a row's {} elements",
                                scalar, arg.name, pitch, problem.key(), arg.shape.back());
  throw DefinitionError({std::move(mistake)});
}

}  // namespace

SampleValue scalar_sample(const OpDefinition& definition, const std::string& name, const Problem& problem) {
  const auto sample = definition.samples.find(name);
  if (sample == definition.samples.end()) return std::int64_t{0};
  if (sample->second.formula) return sample->second.formula->integer(ProblemScope(problem));
  return sample->second.scale;
}

std::vector<std::int64_t> sample_pitches(const OpDefinition& definition, const Problem& problem,
                                         std::span<const PlannedArg> args) {
  std::vector<std::int64_t> pitches;
  for (const PlannedArg& arg : args) {
    const std::int64_t cols = arg.shape.empty() ? 0 : arg.shape.back();
    pitches.push_back(arg.pitch ? pitch_sample(definition, args[*arg.pitch].name, problem) : cols);
    if (pitches.back() < cols) refuse_pitch(definition, problem, arg, args[*arg.pitch].name, pitches.back());
  }
  return pitches;
}

}  // namespace tilewright
