// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/tensor_dims.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "cache/base/error.hpp"

namespace tilewright::launch {

namespace {

/// A dim's value, if known, and the tensor that it was read from.
struct KnownDim {
  std::optional<std::int64_t> value;
  std::string source;
};

/// An extent of a tensor: its value, and its formula in the definition.
struct Extent {
  const Argument* argument;
  const Formula* formula;
  std::int64_t value;
};

/// The names of a problem with some dims unknown. These have a guessed value, and are noted when a formula reads them:
/// `select(layout == 'tn', k, m)` reads one.
class GuessScope : public Scope {
 public:
  GuessScope(const OpSpec& spec, const OpInterface& interface, const std::vector<KnownDim>& dims, std::int64_t guess)
      : problem_{spec, {}} {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      problem_.dims.emplace_back(interface.dims[i], dims[i].value.value_or(guess));
      if (!dims[i].value) unknown_.insert(interface.dims[i]);
    }
  }

  [[nodiscard]] std::optional<Value> find(std::string_view name) const override {
    if (unknown_.contains(std::string(name))) guessed_.insert(std::string(name));
    return ProblemScope(problem_).find(name);
  }
  [[nodiscard]] std::vector<std::string> names() const override { return ProblemScope(problem_).names(); }
  /// The unknown dims that were read.
  [[nodiscard]] const std::set<std::string>& guessed() const noexcept { return guessed_; }

 private:
  Problem problem_;
  std::set<std::string> unknown_;
  mutable std::set<std::string> guessed_;
};

class Solver {
 public:
  Solver(const OpSpec& spec, const OpInterface& interface)
      : spec_(spec), interface_(interface), dims_(interface.dims.size()) {}

  void add(const Argument& argument, const TensorShape& tensor) {
    const std::size_t rank = argument.shape.size();
    const std::size_t given = tensor.extents.size();
    if (given < rank) {
      throw UsageError(fmt::format("{}: '{}' has the extents [{}]; it needs {} of them, [{}]", spec_.text(),
                                   argument.name, fmt::join(tensor.extents, ", "), rank, formulas_text(argument)));
    }
    std::int64_t leading = 1;
    for (std::size_t i = 0; i + rank <= given && rank > 0; ++i) {
      if (__builtin_mul_overflow(leading, tensor.extents[i], &leading)) {
        throw UsageError(fmt::format("{}: '{}' has more than 2^63-1 rows", spec_.text(), argument.name));
      }
    }
    for (std::size_t i = 0; i < rank; ++i) {
      extents_.push_back({&argument, &argument.shape[i], i == 0 ? leading : tensor.extents[given - rank + i]});
    }
  }

  std::vector<std::int64_t> solve() {
    while (std::any_of(extents_.begin(), extents_.end(), [&](const Extent& extent) { return take(extent); })) {
    }
    std::vector<std::int64_t> result;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      if (!dims_[i].value) {
        throw UsageError(fmt::format("{}: the extents of its tensors do not tell the dim '{}'; it must be given",
                                     spec_.text(), interface_.dims[i]));
      }
      result.push_back(*dims_[i].value);
    }
    static_cast<void>(make_problem(spec_, interface_, result));
    for (const Extent& extent : extents_) check(extent);
    return result;
  }

 private:
  static std::string formulas_text(const Argument& argument) {
    std::vector<std::string> texts;
    for (const Formula& formula : argument.shape) texts.push_back(formula.text());
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  /// Solves for the one unknown dim of an extent that is linear in it; false if nothing is learned.
  bool take(const Extent& extent) {
    const GuessScope one(spec_, interface_, dims_, 1);
    const GuessScope two(spec_, interface_, dims_, 2);
    std::int64_t at_one = 0, step = 0, beyond = 0;
    try {
      at_one = extent.formula->integer(one);
      step = extent.formula->integer(two) - at_one;
    } catch (const DefinitionError&) {
      return false;  // it cannot be evaluated for a guess
    }
    if (one.guessed().size() != 1 || two.guessed() != one.guessed() || step <= 0) return false;
    if (__builtin_sub_overflow(extent.value, at_one, &beyond) || beyond % step != 0) return false;
    const auto name = std::find(interface_.dims.begin(), interface_.dims.end(), *one.guessed().begin());
    dims_[static_cast<std::size_t>(name - interface_.dims.begin())] = {1 + beyond / step, extent.argument->name};
    return true;
  }

  void check(const Extent& extent) const {
    const std::int64_t expected = extent.formula->integer(GuessScope(spec_, interface_, dims_, 1));
    if (extent.value == expected) return;
    std::vector<std::string> known;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      known.push_back(fmt::format("{}={} from '{}'", interface_.dims[i], *dims_[i].value, dims_[i].source));
    }
    throw UsageError(fmt::format("{}: '{}' has the extent {} where [{}] needs {}, with {}", spec_.text(),
                                 extent.argument->name, extent.value, formulas_text(*extent.argument), expected,
                                 fmt::join(known, ", ")));
  }

  const OpSpec& spec_;
  const OpInterface& interface_;
  std::vector<KnownDim> dims_;
  std::vector<Extent> extents_;
};

}  // namespace

std::vector<std::int64_t> dims_of_tensors(const OpSpec& spec, const OpInterface& interface,
                                          std::span<const TensorShape> arguments) {
  Solver solver(spec, interface);
  for (const TensorShape& tensor : arguments) {
    const auto is_it = [&](const Argument& argument) { return argument.name == tensor.name; };
    const auto argument = std::find_if(interface.args.begin(), interface.args.end(), is_it);
    if (argument == interface.args.end()) throw UsageError(fmt::format("{} has no '{}'", spec.text(), tensor.name));
    solver.add(*argument, tensor);
  }
  return solver.solve();
}

}  // namespace tilewright::launch
