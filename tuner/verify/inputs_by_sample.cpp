// SPDX-License-Identifier: Apache-2.0
// Inputs that are not random: formulas, whole numbers, and outputs of other ops' references.
#include <fmt/format.h>

#include <utility>

#include "cache/base/error.hpp"
#include "tuner/definition/samples.hpp"
#include "tuner/verify/inputs.hpp"
#include "tuner/verify/made_inputs.hpp"
#include "tuner/verify/program.hpp"
#include "tuner/verify/whole_numbers.hpp"

namespace tilewright {

void ArgumentSet::keep(std::size_t arg) {
  fill_gaps(arg);
  kept_[arg] = device_.allocate(tensors_[arg].bytes, "copy of " + args_[arg].name);
  device_.copy(kept_[arg]->address(), tensors_[arg].address, tensors_[arg].bytes);
}

void ArgumentSet::fill_by_sample(std::size_t arg, const Sample& sample, const OpDefinition& definition,
                                 const Problem& problem) {
  if (tensors_[arg].layout.elements() == 0) return;
  SampleScope scope(definition, problem, options_.seed);
  if (sample.fill == "formula") {
    fill_by_formula(arg, sample, scope);
  } else if (sample.to) {
    const WholeBounds bounds = whole_bounds(sample, args_[arg], scope);
    const std::vector<std::int64_t> numbers = whole_numbers(args_[arg], sample, bounds, fills_[arg].key);
    std::vector<std::byte> bytes = read(arg);
    const TensorLayout& layout = tensors_[arg].layout;
    for (std::int64_t offset = 0; offset < layout.span(); ++offset) {
      if (layout.in_gap(offset)) continue;
      utility::write_whole(bytes.data(), utility_type(args_[arg].type), offset,
                           numbers[static_cast<std::size_t>(layout.element(offset))]);
    }
    device_.upload(tensors_[arg].address, bytes);
  } else {
    return;
  }
  keep(arg);
}

void ArgumentSet::fill_by_formula(std::size_t arg, const Sample& sample, SampleScope& scope) {
  const GuardedTensor& tensor = tensors_[arg];
  const std::vector<std::int64_t>& shape = args_[arg].shape;
  ProgramFill fill{{static_cast<utility::i64>(shape.size())}, tensor.layout.elements(), sample.scale};
  const auto append = [&](const auto& words) { fill.words.insert(fill.words.end(), words.begin(), words.end()); };
  append(shape);
  append(element_strides(args_[arg], tensor.layout));
  const auto where = program_of(sample.where.value_or(Formula::parse("true")), sample.index, scope);
  append(std::vector<utility::i64>{static_cast<utility::i64>(fill.words.size() + 1 + where.size())});
  append(where);
  append(program_of(*sample.formula, sample.index, scope));
  const auto first = device_.tools().fill_by_program(tensor.address, args_[arg].type, fill);
  if (!first) return;
  // The formula itself explains the failure.
  std::vector<std::int64_t> place(shape.size());
  std::int64_t rest = *first;
  for (std::size_t i = shape.size(); i-- > 0; rest /= shape[i]) place[i] = rest % shape[i];
  scope.set_indices(sample.index, place);
  if (sample.where) static_cast<void>(sample.where->truth(scope));
  const std::int64_t value = sample.formula->integer(scope);
  const SourcePlace& at = sample.formula->place();
  throw DefinitionError({{at.file, at.line, at.column,
                          fmt::format("the sample of {} has the value {}, which {} does not hold",
                                      element_name(args_[arg], *first), value, name(args_[arg].type))}});
}

void ArgumentSet::make_inputs(const OpDefinition& definition, const Problem& problem) {
  std::vector<bool> is_ready(args_.size(), true);
  std::vector<std::pair<std::size_t, const MadeInput*>> makes;
  for (std::size_t i = 0; i < args_.size(); ++i) {
    const auto sample = definition.samples.find(args_[i].name);
    if (sample == definition.samples.end() || !sample->second.made) continue;
    makes.emplace_back(i, &*sample->second.made);
    is_ready[i] = false;
  }
  if (makes.empty()) return;
  if (options_.reference == nullptr) {
    throw UsageError(
        fmt::format("the inputs of {} are made by other ops, and their references are not here", problem.key()));
  }
  InputMaker maker(device_, problem, *options_.reference, options_.seed);
  for (const auto& [arg, made] : makes) {
    maker.make({args_, values_, tensors_, is_ready}, arg, *made);
    keep(arg);
  }
}

}  // namespace tilewright
