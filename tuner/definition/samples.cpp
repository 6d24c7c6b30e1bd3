// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/samples.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "cache/model/formula/arithmetic.hpp"

namespace tilewright {
namespace {

std::int64_t whole_sample(const OpDefinition& definition, const std::string& name, const Problem& problem) {
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

bool shares_a_stride(const PlannedArg& arg, std::span<const PlannedArg> args) {
  return std::ranges::any_of(arg.strides, [&](const PlannedStride& own) {
    return std::ranges::count_if(args, [&](const PlannedArg& other) {
             return std::ranges::find(other.strides, own.scalar, &PlannedStride::scalar) != other.strides.end();
           }) > 1;
  });
}

// Raises the strides to odd multiples of `unit`, smallest first: each still steps over the smaller ones.
void raise(std::vector<StrideStep>& steps, std::int64_t row, std::int64_t unit) {
  unit = std::max<std::int64_t>(unit, 1);
  std::vector<StrideStep*> order;
  for (StrideStep& step : steps) order.push_back(&step);
  // The last of equal strides is the innermost.
  std::ranges::stable_sort(order, [](const StrideStep* a, const StrideStep* b) {
    return std::tuple(a->stride, b) < std::tuple(b->stride, a);
  });
  std::int64_t span = row;
  for (StrideStep* const step : order) {
    const checked::Number raised = checked::round_up(std::max(step->stride, span), unit);
    const checked::Number odd = !raised || *raised / unit % 2 == 1 ? raised : checked::add(*raised, unit);
    const checked::Number way = odd ? checked::multiply(step->extent - 1, *odd) : odd;
    const checked::Number behind = way ? checked::add(span, *way) : way;
    if (!behind) return;
    step->stride = *odd;
    span = *behind;
  }
}

template <class Number>
bool is_in_range_of(std::int64_t value) {
  return value >= std::int64_t{std::numeric_limits<Number>::min()} &&
         value <= std::int64_t{std::numeric_limits<Number>::max()};
}

}  // namespace

void refuse_sample(const Formula& formula, std::string message) {
  const SourcePlace& place = formula.place();
  throw DefinitionError({{place.file, place.line, place.column, std::move(message)}});
}

SampleValue scalar_sample(const OpDefinition& definition, const std::string& name, const Problem& problem) {
  const auto sample = definition.samples.find(name);
  if (sample == definition.samples.end()) return std::int64_t{0};
  if (!sample->second.formula) return sample->second.scale;
  const Formula& formula = *sample->second.formula;
  const std::int64_t value = formula.integer(ProblemScope(problem));
  const std::vector<Argument>& args = definition.interface.args;
  const auto arg = std::ranges::find(args, name, &Argument::name);
  if (arg == args.end() || holds(arg->type_for(problem.spec.dtype), value)) return value;
  refuse_sample(formula, fmt::format("the sample of '{}' has the value {}, which {} does not hold{}", name, value,
                                     tilewright::name(arg->type_for(problem.spec.dtype)),
                                     values_in(formula, ProblemScope(problem))));
}

std::vector<std::vector<StrideStep>> sample_strides(const OpDefinition& definition, const Problem& problem,
                                                    std::span<const PlannedArg> args,
                                                    std::span<const std::size_t> alignments) {
  std::vector<std::vector<StrideStep>> all;
  for (const PlannedArg& arg : args) {
    std::vector<StrideStep>& steps = all.emplace_back();
    for (const PlannedStride& stride : arg.strides) {
      steps.push_back({stride.extent, whole_sample(definition, args[stride.scalar].name, problem)});
    }
    const auto mistake = arg.strides.empty() ? std::nullopt : short_stride(steps, arg.shape.back());
    if (mistake) {
      refuse_stride(definition, problem, arg, args[arg.strides[mistake->index].scalar].name,
                    steps[mistake->index].stride, *mistake);
    }
    if (alignments.empty() || arg.strides.empty() || shares_a_stride(arg, args)) continue;
    raise(steps, arg.shape.back(), static_cast<std::int64_t>(alignments[all.size() - 1] / size_of(arg.type)));
  }
  return all;
}

SampleScope::SampleScope(const OpDefinition& definition, const Problem& problem, std::uint64_t draw)
    : definition_(definition), problem_(problem), draw_(static_cast<std::int64_t>(draw)) {}

void SampleScope::set_indices(std::span<const std::string> names, std::span<const std::int64_t> values) {
  index_names_ = names;
  index_values_ = values;
}

std::optional<Value> SampleScope::find(std::string_view name) const {
  if (auto found = ProblemScope(problem_).find(name)) return found;
  for (const Argument& arg : definition_.interface.args) {
    if (arg.name != name || !is_whole_scalar(arg)) continue;
    // Kernels, too, receive 0 for an absent scalar.
    if (arg.when && !arg.when->truth(ProblemScope(problem_))) return 0;
    return whole_sample(definition_, arg.name, problem_);
  }
  if (name == kDraw) return draw_;
  for (std::size_t i = 0; i < index_names_.size(); ++i) {
    if (index_names_[i] == name) return index_values_[i];
  }
  return std::nullopt;
}

std::vector<std::string> SampleScope::names() const {
  std::vector<std::string> all = ProblemScope(problem_).names();
  for (const Argument& arg : definition_.interface.args) {
    if (is_whole_scalar(arg)) all.push_back(arg.name);
  }
  all.emplace_back(kDraw);
  all.insert(all.end(), index_names_.begin(), index_names_.end());
  return all;
}

bool holds(DType type, std::int64_t value) noexcept {
  switch (type) {
    case DType::i32:
      return is_in_range_of<std::int32_t>(value);
    case DType::u32:
      return is_in_range_of<std::uint32_t>(value);
    case DType::u8:
      return is_in_range_of<std::uint8_t>(value);
    case DType::u64:
      return value >= 0;
    default:
      return true;
  }
}

bool is_whole_scalar(const Argument& arg) noexcept {
  return arg.role == ArgRole::scalar && arg.type && unit_roundoff(*arg.type) <= 0;
}

WholeBounds whole_bounds(const Sample& sample, const PlannedArg& arg, const Scope& scope) {
  WholeBounds bounds;
  if (sample.from) bounds.from = sample.from->integer(scope);
  bounds.to = sample.to->integer(scope);
  if (sample.sometimes) bounds.sometimes = sample.sometimes->integer(scope);
  const bool is_prefix = sample.fill == "prefix";
  if (is_prefix ? bounds.to < 0 : bounds.to <= bounds.from) {
    refuse_sample(*sample.to, fmt::format("the sample of '{}' is a {} from {} to {}, and there is no number in it{}",
                                          arg.name, sample.fill, bounds.from, bounds.to, values_in(*sample.to, scope)));
  }
  // Numbers are drawn from below this; a prefix ends in `to` itself.
  if (!(is_prefix ? checked::add(bounds.to, 1) : checked::subtract(bounds.to, bounds.from))) {
    refuse_sample(*sample.to, fmt::format("the sample of '{}' is a {} from {} to {}, of more than 2^63-1 numbers{}",
                                          arg.name, sample.fill, bounds.from, bounds.to, values_in(*sample.to, scope)));
  }
  const std::int64_t last = is_prefix ? bounds.to : bounds.to - 1;
  for (const std::int64_t value : {bounds.from, last, bounds.sometimes.value_or(last)}) {
    if (holds(arg.type, value)) continue;
    refuse_sample(*sample.to, fmt::format("the sample of '{}' has the value {}, which {} does not hold{}", arg.name,
                                          value, name(arg.type), values_in(*sample.to, scope)));
  }
  return bounds;
}

OpDefinition with_samples(const OpDefinition& definition, std::size_t index) {
  OpDefinition with = definition;
  if (index > 0) with.samples = definition.more_samples.at(index - 1).samples;
  return with;
}

std::vector<const MadeInput*> made_inputs_of(const OpDefinition& definition) {
  std::vector<const MadeInput*> all;
  const auto add = [&](const Samples& samples) {
    for (const auto& [arg, sample] : samples) {
      if (sample.made) all.push_back(&*sample.made);
    }
  };
  add(definition.samples);
  for (const NamedSamples& more : definition.more_samples) add(more.samples);
  return all;
}

std::vector<std::pair<std::string, std::string>> attributes_of(const MadeInput& made, const OpSpec& spec) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Attribute& attribute : made.op->interface.attributes) {
    const auto given = std::ranges::find(made.attributes, attribute.name, &std::pair<std::string, std::string>::first);
    const std::string* same = spec.attribute(attribute.name);
    const std::string& otherwise = same != nullptr ? *same : attribute.values.front();
    all.emplace_back(attribute.name, given != made.attributes.end() ? given->second : otherwise);
  }
  return all;
}

Problem problem_of(const MadeInput& made, const PlannedArg& arg, const Problem& problem) {
  const OpInterface& interface = made.op->interface;
  const OpSpec spec{interface.op, problem.spec.dtype, attributes_of(made, problem.spec)};
  std::vector<std::int64_t> dims;
  for (const auto& [dim, formula] : made.dims) dims.push_back(formula.integer(ProblemScope(problem)));
  // An op has at least one dim.
  const Formula& place = made.dims.front().second;
  auto maker = [&] {
    try {
      return make_problem(spec, interface, dims);
    } catch (const UsageError& error) {
      refuse_sample(place,
                    fmt::format("the sample of '{}' for {} cannot be made: {}", arg.name, problem.key(), error.what()));
    }
  }();
  const std::vector<PlannedArg> outputs = plan_args(interface, maker);
  const auto output = std::ranges::find(outputs, made.output, &PlannedArg::name);
  if (output == outputs.end()) {
    refuse_sample(
        place, fmt::format("the sample of '{}' for {} cannot be made: {} has no '{}' then; 'attributes' of the sample "
                           "may say otherwise",
                           arg.name, problem.key(), maker.key(), made.output));
  }
  if (output->shape == arg.shape) return maker;
  refuse_sample(place,
                fmt::format("the sample of '{}' for {} has {} elements, and '{}' of {} has {}", arg.name, problem.key(),
                            fmt::join(arg.shape, "×"), made.output, maker.key(), fmt::join(output->shape, "×")));
}

}  // namespace tilewright
