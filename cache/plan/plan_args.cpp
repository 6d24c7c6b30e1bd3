// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cache/model/formula/arithmetic.hpp"
#include "cache/plan/plan.hpp"

namespace tilewright {
namespace {

std::int64_t extent_of(const Formula& formula, const Argument& argument, const ProblemScope& scope) {
  const std::int64_t extent = formula.integer(scope);
  if (extent >= 0) return extent;
  const SourcePlace& place = formula.place();
  throw DefinitionError({{place.file.empty() ? "formula" : place.file, place.line, place.column,
                          fmt::format("the extent `{}` of '{}' is {}", formula.text(), argument.name, extent)}});
}

[[noreturn]] void too_large(const Problem& problem, std::string_view what) {
  throw UsageError(fmt::format("cannot plan {}: {} beyond 2^63-1 bytes; choose smaller dims", problem.key(), what));
}

PlannedArg plan_arg(const Argument& argument, const Problem& problem, const ProblemScope& scope) {
  PlannedArg planned{argument.name, argument.role, argument.type_for(problem.spec.dtype), {}, 0, 1, argument.alias};
  const auto element = static_cast<std::int64_t>(size_of(planned.type));
  checked::Number bytes = element;
  for (const Formula& formula : argument.shape) planned.shape.push_back(extent_of(formula, argument, scope));
  for (const std::int64_t extent : planned.shape) {
    if (extent == 0) bytes = 0;
  }
  // An empty tensor cannot overflow: 0 * 2^40 * 2^40 has no elements.
  for (const std::int64_t extent : planned.shape) {
    if (bytes && *bytes != 0) bytes = checked::multiply(*bytes, extent);
  }
  if (!bytes) {
    too_large(problem, fmt::format("'{}' of {} elements is", argument.name, fmt::join(planned.shape, " x ")));
  }
  planned.bytes = static_cast<std::size_t>(*bytes);
  if (argument.role != ArgRole::scalar) {
    const checked::Number alignment = checked::multiply(argument.align, element);
    if (argument.align < 1 || (argument.align & (argument.align - 1)) != 0 || !alignment) {
      throw DefinitionError(
          {{fmt::format("interface of {}", problem.spec.op), 0, 0,
            fmt::format("the alignment of '{}' is {} elements, not a power of two", argument.name, argument.align)}});
    }
    planned.alignment = static_cast<std::size_t>(*alignment);
  }
  return planned;
}

/// The index in `args` of a scalar that holds the argument's pitch or stride; nullopt if it is absent here. `what`:
/// "the pitch", "a stride".
std::optional<std::size_t> scalar_of(const Argument& argument, const std::string& scalar, std::string_view what,
                                     const OpInterface& interface, std::span<const PlannedArg> args) {
  const auto is_it = [&](const auto& other) { return other.name == scalar; };
  const auto declared = std::find_if(interface.args.begin(), interface.args.end(), is_it);
  if (declared == interface.args.end() || declared->role != ArgRole::scalar || declared->type != DType::i64) {
    throw DefinitionError(
        {{fmt::format("interface of {}", interface.op), 0, 0,
          fmt::format("{} of '{}' is '{}', which is not a scalar of type i64", what, argument.name, scalar)}});
  }
  const auto here = std::find_if(args.begin(), args.end(), is_it);
  if (here == args.end()) return std::nullopt;
  return static_cast<std::size_t>(here - args.begin());
}

/// The number of rows of the tensor.
std::int64_t rows_of(const PlannedArg& arg) {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < arg.shape.size(); ++i) rows *= arg.bytes == 0 ? 0 : arg.shape[i];
  return rows;
}

void add_strides(const Argument& argument, const OpInterface& interface, std::span<const PlannedArg> args,
                 PlannedArg& arg) {
  if (!argument.pitch.empty()) {
    if (const auto pitch = scalar_of(argument, argument.pitch, "the pitch", interface, args)) {
      arg.strides = {{*pitch, rows_of(arg)}};
      arg.is_pitched = true;
    }
    return;
  }
  if (argument.strides.empty()) return;
  const auto refuse = [&](std::string why) {
    throw DefinitionError({{fmt::format("interface of {}", interface.op), 0, 0,
                            fmt::format("the strides of '{}' {}", argument.name, std::move(why))}});
  };
  if (argument.strides.size() + 1 != arg.shape.size()) {
    refuse(fmt::format("are {}; a tensor with {} extents has one for each but the last", argument.strides.size(),
                       arg.shape.size()));
  }
  for (std::size_t i = 0; i < argument.strides.size(); ++i) {
    const auto stride = scalar_of(argument, argument.strides[i], "a stride", interface, args);
    if (stride) arg.strides.push_back({*stride, arg.shape[i]});
  }
  if (!arg.strides.empty() && arg.strides.size() != argument.strides.size()) {
    refuse("are in part absent; a call has all of them or none");
  }
}

}  // namespace

std::vector<PlannedArg> plan_args(const OpInterface& interface, const Problem& problem) {
  const ProblemScope scope(problem);
  std::vector<PlannedArg> args;
  checked::Number total = 0;
  for (const Argument& argument : interface.args) {
    if (argument.when && !argument.when->truth(scope)) continue;
    args.push_back(plan_arg(argument, problem, scope));
    total = checked::add(*total, static_cast<std::int64_t>(args.back().bytes));
    if (!total) too_large(problem, "its arguments together are");
  }
  for (PlannedArg& arg : args) {
    std::erase_if(arg.alias, [&](const std::string& input) {
      return std::none_of(args.begin(), args.end(), [&](const PlannedArg& other) { return other.name == input; });
    });
  }
  std::size_t place = 0;
  for (const Argument& argument : interface.args) {
    if (place == args.size() || args[place].name != argument.name) continue;
    add_strides(argument, interface, args, args[place]);
    ++place;
  }
  return args;
}

std::size_t total_bytes(std::span<const PlannedArg> args) noexcept {
  std::size_t total = 0;
  for (const PlannedArg& arg : args) total += arg.bytes;
  return total;
}

}  // namespace tilewright
