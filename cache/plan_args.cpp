// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cache/formula/arithmetic.hpp"
#include "cache/plan.hpp"

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
  // Overflow is of what is there: 0 * 2^40 * 2^40 has no elements.
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
  return args;
}

std::size_t total_bytes(std::span<const PlannedArg> args) noexcept {
  std::size_t total = 0;
  for (const PlannedArg& arg : args) total += arg.bytes;
  return total;
}

}  // namespace tilewright
