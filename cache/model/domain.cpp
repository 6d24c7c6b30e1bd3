// SPDX-License-Identifier: Apache-2.0
#include "cache/model/domain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/error.hpp"
#include "cache/model/formula/arithmetic.hpp"

namespace tilewright {
namespace {

/// The most formulas that a search evaluates.
constexpr int kMostTries = 100'000;

/// Why the formula does not hold; empty if it does.
std::string broken(const Formula& formula, const Scope& scope) {
  try {
    if (formula.truth(scope)) return {};
    return fmt::format("`{}` is false{}", formula.text(), values_in(formula, scope));
  } catch (const DefinitionError& error) {
    return fmt::format("`{}` has no value{}: {}", formula.text(), values_in(formula, scope), error.what());
  }
}

/// Values to try for a dim, `wanted` first.
std::vector<std::int64_t> stand_ins(std::int64_t wanted) {
  std::vector<std::int64_t> all{wanted};
  const auto add = [&](std::int64_t value) {
    if (value >= 1 && std::ranges::find(all, value) == all.end()) all.push_back(value);
  };
  for (const std::int64_t multiple : {2, 8, 16, 64, 128}) {
    add(wanted / multiple * multiple);
    if (const checked::Number above = checked::add(wanted / multiple * multiple, multiple)) add(*above);
  }
  for (const std::int64_t usual : {256, 192, 128, 96, 64, 32, 16, 8, 4, 2, 1}) add(usual);
  return all;
}

/// Chooses dims one after the other; a formula is evaluated as soon as its dims have values.
class Search {
 public:
  Search(const OpSpec& spec, const OpInterface& interface, std::span<const std::int64_t> dims)
      : interface_(interface), wanted_(dims), problem_{spec, {}} {
    for (const std::string& dim : interface.dims) problem_.dims.emplace_back(dim, 1);
    for (const Formula& formula : interface.domain) {
      std::size_t last = 0;
      for (const std::string& name : formula.names()) {
        const auto dim = std::ranges::find(interface.dims, name);
        if (dim != interface.dims.end()) last = std::max(last, static_cast<std::size_t>(dim - interface.dims.begin()));
      }
      known_after_.push_back(last);
    }
  }

  bool run(std::size_t dim = 0) {
    if (dim == wanted_.size()) return true;
    for (const std::int64_t value : stand_ins(wanted_[dim])) {
      problem_.dims[dim].second = value;
      if (is_possible(dim) && run(dim + 1)) return true;
      if (tries_ > kMostTries) return false;
    }
    return false;
  }

  [[nodiscard]] std::vector<std::int64_t> dims() const { return shape_of(problem_); }

 private:
  bool is_possible(std::size_t dim) {
    const ProblemScope scope(problem_);
    for (std::size_t i = 0; i < interface_.domain.size(); ++i) {
      if (known_after_[i] != dim) continue;
      ++tries_;
      if (!broken(interface_.domain[i], scope).empty()) return false;
    }
    return true;
  }

  const OpInterface& interface_;
  std::span<const std::int64_t> wanted_;
  Problem problem_;
  /// For each formula, the last dim that it mentions.
  std::vector<std::size_t> known_after_;
  int tries_ = 0;
};

}  // namespace

std::string outside_domain(const Problem& problem, const OpInterface& interface) {
  const ProblemScope scope(problem);
  for (const Formula& formula : interface.domain) {
    if (std::string why = broken(formula, scope); !why.empty()) return why;
  }
  return {};
}

void require_domain(const Problem& problem, const OpInterface& interface) {
  const std::string why = outside_domain(problem, interface);
  if (why.empty()) return;
  throw UsageError(fmt::format("{} is outside the domain of {}: {}", problem.key(), interface.op, why));
}

std::optional<std::vector<std::int64_t>> dims_in_domain(const OpSpec& spec, const OpInterface& interface,
                                                        std::span<const std::int64_t> dims) {
  if (interface.domain.empty()) return std::vector<std::int64_t>(dims.begin(), dims.end());
  Search search(spec, interface, dims);
  if (!search.run()) return std::nullopt;
  return search.dims();
}

}  // namespace tilewright
