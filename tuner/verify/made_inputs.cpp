// SPDX-License-Identifier: Apache-2.0
#include "tuner/verify/made_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cache/base/error.hpp"
#include "tuner/definition/samples.hpp"
#include "tuner/verify/reference_run.hpp"

namespace tilewright {
namespace {

std::size_t place_of(const std::vector<PlannedArg>& args, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(args, name, &PlannedArg::name) - args.begin());
}

/// The verified op's argument that `arg` of the other op shares, if there is one.
std::optional<std::size_t> shared(const InputMaker::Given& given, const PlannedArg& arg) {
  const std::size_t i = place_of(given.args, arg.name);
  if (i == given.args.size()) return std::nullopt;
  const PlannedArg& own = given.args[i];
  const bool is_same = own.role == arg.role && own.type == arg.type && own.shape == arg.shape;
  return is_same && given.is_ready[i] ? std::optional(i) : std::nullopt;
}

bool is_stride(const std::vector<PlannedArg>& args, std::size_t scalar) {
  return std::ranges::any_of(args, [&](const PlannedArg& arg) {
    return std::ranges::find(arg.strides, scalar, &PlannedStride::scalar) != arg.strides.end();
  });
}

}  // namespace

const InputMaker::Made& InputMaker::run(const Given& given, const OpDefinition& op, const Problem& problem) {
  const auto [place, is_new] = made_.try_emplace(problem.key());
  Made& made = place->second;
  if (!is_new) return made;
  made.set = std::make_unique<ArgumentSet>(device_, op, problem, ArgumentSet::Options{.seed = seed_});
  const std::vector<PlannedArg>& args = made.set->args();
  std::vector<std::uint64_t> values = made.set->values();
  made.outputs.resize(args.size());
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (is_output(args[i])) {
      made.outputs[i] = room_for_expected(device_, *made.set, i);
      values[i] = made.outputs[i]->address();
      continue;
    }
    const auto own = shared(given, args[i]);
    if (!own || (args[i].role == ArgRole::scalar && is_stride(args, i))) continue;
    values[i] = given.values[*own];
    if (args[i].role == ArgRole::scalar) continue;
    const std::vector<std::int64_t> strides = element_strides(given.args[*own], given.tensors[*own].layout);
    if (args[i].strides.empty() && given.tensors[*own].layout.gaps() > 0) {
      throw UsageError(fmt::format("cannot make inputs of {} by {}: '{}' has strides here, and none there",
                                   problem_.key(), problem.key(), args[i].name));
    }
    for (std::size_t s = 0; s < args[i].strides.size(); ++s) {
      const std::size_t extent = args[i].is_pitched ? strides.size() - 2 : s;
      values[args[i].strides[s].scalar] = static_cast<std::uint64_t>(strides[extent]);
    }
  }
  run_reference(device_, op, problem, reference_, values);
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!made.outputs[i]) continue;
    const TensorLayout& layout = made.set->layout(i);
    const auto poison = device_.tools().tally_words(made.outputs[i]->address(), layout.span()).poison;
    if (static_cast<std::int64_t>(poison) <= layout.gaps()) continue;
    throw Error(fmt::format("the reference of {} ({}) is wrong: it left {} of {} elements of {} unwritten",
                            problem.key(), op.reference.source.string(),
                            static_cast<std::int64_t>(poison) - layout.gaps(), layout.elements(), args[i].name));
  }
  return made;
}

void InputMaker::make(const Given& given, std::size_t arg, const MadeInput& made) {
  const PlannedArg& planned = given.args[arg];
  const Made& source = run(given, *made.op, problem_of(made, planned, problem_));
  const std::size_t output = place_of(source.set->args(), made.output);
  const GuardedTensor& tensor = given.tensors[arg];
  if (tensor.layout.elements() == 0) return;
  std::vector<utility::i64> words{static_cast<utility::i64>(planned.shape.size())};
  words.insert(words.end(), planned.shape.begin(), planned.shape.end());
  for (const auto& strides : {element_strides(source.set->args()[output], source.set->layout(output)),
                              element_strides(planned, tensor.layout)}) {
    words.insert(words.end(), strides.begin(), strides.end());
  }
  device_.tools().round_elements(tensor.address, planned.type, source.outputs[output]->address(), words,
                                 tensor.layout.elements());
}

}  // namespace tilewright
