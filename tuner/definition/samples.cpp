// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/samples.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tilewright {
namespace {

std::int64_t stride_sample(const OpDefinition& definition, const std::string& name, const Problem& problem) {
  const SampleValue value = scalar_sample(definition, name, problem);
  const auto* whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? *whole : std::llround(std::get<double>(value));
}

[[noreturn]] void refuse_stride(const OpDefinition& definition, const Problem& problem, const PlannedArg& arg,
                                const std::string& scalar, std::int64_t stride, const ShortStride& wrong) {
  Diagnostic mistake;
  mistake.file = definition.file.string();
  if (const auto found = definition.samples.find(scalar); found != definition.samples.end() && found->second.formula) {
    const SourcePlace& place = found->second.formula->place();
    if (!place.file.empty()) mistake.file = place.file;
    mistake.line = place.line;
    mistake.column = place.column;
  }
  mistake.message = fmt::format("the sample of '{}', {} of '{}', is {} for {}, less than {}", scalar,
                                arg.is_pitched ? "the pitch" : "a stride", arg.name, stride, problem.key(),
                                wrong.below_row ? fmt::format("a row's {} elements", wrong.least)
                                                : fmt::format("the {} elements that it steps over", wrong.least));
  throw DefinitionError({std::move(mistake)});
}

}  // namespace

SampleValue scalar_sample(const OpDefinition& definition, const std::string& name, const Problem& problem) {
  const auto sample = definition.samples.find(name);
  if (sample == definition.samples.end()) return std::int64_t{0};
  if (sample->second.formula) return sample->second.formula->integer(ProblemScope(problem));
  return sample->second.scale;
}

std::vector<std::vector<StrideStep>> sample_strides(const OpDefinition& definition, const Problem& problem,
                                                    std::span<const PlannedArg> args) {
  std::vector<std::vector<StrideStep>> all;
  for (const PlannedArg& arg : args) {
    std::vector<StrideStep>& steps = all.emplace_back();
    for (const PlannedStride& stride : arg.strides) {
      steps.push_back({stride.extent, stride_sample(definition, args[stride.scalar].name, problem)});
    }
    const auto mistake = arg.strides.empty() ? std::nullopt : short_stride(steps, arg.shape.back());
    if (mistake) {
      refuse_stride(definition, problem, arg, args[arg.strides[mistake->index].scalar].name,
                    steps[mistake->index].stride, *mistake);
    }
  }
  return all;
}

}  // namespace tilewright
