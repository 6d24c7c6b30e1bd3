// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "cache/model/formula/arithmetic.hpp"
#include "tuner/definition/samples.hpp"

namespace tilewright {
namespace {

/// A larger tensor is sampled at this many elements, whose sum is scaled up.
constexpr std::int64_t kMostElements = 4096;
/// Contents often repeat after a number of elements with these factors.
constexpr std::int64_t kUsualFactors = 2 * 3 * 5 * 7 * 11 * 13;

__extension__ using Wide = __int128;

/// The step from one sampled element to the next, modulo `count`: near the golden ratio, so that any number of elements
/// is spread evenly, and without a common factor with usual periods, so that it meets all their places alike.
std::int64_t step_through(std::int64_t count) {
  auto step = static_cast<std::int64_t>(Wide{count} * 618'033'989 / 1'000'000'000);
  while (std::gcd(step, count) != 1 || std::gcd(step, kUsualFactors) != 1) ++step;
  return step;
}

const Argument* summed(const OpDefinition& definition, std::string_view name) {
  const std::vector<Argument>& args = definition.interface.args;
  const auto found = std::ranges::find(args, name, &Argument::name);
  return found != args.end() && is_summed(*found) ? &*found : nullptr;
}

/// The sum of the argument's elements for one draw.
std::int64_t sum_of(const Argument& arg, const OpDefinition& definition, const Problem& problem, std::int64_t draw) {
  const Sample& sample = definition.samples.at(arg.name);
  const ProblemScope dims(problem);
  std::vector<std::int64_t> extents;
  checked::Number count = 1;
  for (const Formula& extent : arg.shape) {
    extents.push_back(extent.integer(dims));
    if (count) count = checked::multiply(*count, extents.back());
  }
  if (!count) refuse_sample(*sample.formula, fmt::format("'{}' has more than 2^63-1 elements", arg.name));
  const std::int64_t looked = std::min(*count, kMostElements);
  std::vector<std::int64_t> indices(extents.size());
  SampleScope scope(definition, problem, static_cast<std::uint64_t>(draw));
  scope.set_indices(sample.index, indices);
  const std::int64_t step = looked < *count ? step_through(*count) : 1;
  checked::Number sum = 0;
  for (std::int64_t i = 0; i < looked && sum; ++i) {
    auto element = static_cast<std::int64_t>(Wide{step} * i % *count);
    for (std::size_t e = extents.size(); e-- > 0; element /= extents[e]) indices[e] = element % extents[e];
    sum = checked::add(*sum, sample.formula->integer(scope));
  }
  if (sum && looked < *count) {
    const Wide scaled = Wide{*sum} * *count / looked;
    sum = static_cast<std::int64_t>(scaled);
    if (*sum != scaled) sum.reset();
  }
  if (!sum) refuse_sample(*sample.formula, fmt::format("the sum of '{}' is beyond 2^63-1", arg.name));
  return *sum;
}

class CostScope : public Scope {
 public:
  CostScope(const OpDefinition& definition, const Problem& problem, std::int64_t draw)
      : definition_(definition), problem_(problem), draw_(draw) {}

  [[nodiscard]] std::optional<Value> find(std::string_view name) const override {
    if (auto found = ProblemScope(problem_).find(name)) return found;
    const Argument* const arg = summed(definition_, name);
    if (arg == nullptr) return std::nullopt;
    return sum_of(*arg, definition_, problem_, draw_);
  }
  [[nodiscard]] std::vector<std::string> names() const override { return ProblemScope(problem_).names(); }

 private:
  const OpDefinition& definition_;
  const Problem& problem_;
  std::int64_t draw_;
};

}  // namespace

bool is_summed(const Argument& arg) noexcept {
  return arg.role == ArgRole::in && !arg.when && arg.type && unit_roundoff(*arg.type) <= 0;
}

std::int64_t cost_of(const Formula& cost, const OpDefinition& definition, const Problem& problem) {
  const std::vector<std::string> names = cost.names();
  const bool depends = std::ranges::any_of(names, [&](const std::string& name) {
    return !ProblemScope(problem).find(name) && summed(definition, name) != nullptr;
  });
  if (!depends) return cost.integer(ProblemScope(problem));
  std::int64_t mean = 0, rest = 0;
  for (std::int64_t draw = 1; draw <= definition.draws; ++draw) {
    const std::int64_t each = cost.integer(CostScope(definition, problem, draw));
    mean += each / definition.draws;
    rest += each % definition.draws;
  }
  return mean + rest / definition.draws;
}

}  // namespace tilewright
