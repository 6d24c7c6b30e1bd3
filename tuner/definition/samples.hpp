// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cache/plan/plan.hpp"
#include "cache/plan/strides.hpp"
#include "tuner/definition/definition.hpp"

/// A definition's samples for one problem: values of scalars and strides, bounds of whole numbers, the names that
/// formulas see, and the problems of ops that make inputs. Pure.
namespace tilewright {

using SampleValue = std::variant<std::int64_t, double>;

/// The value of the scalar `name`; 0 if the definition has none. Throws DefinitionError if its formula cannot be
/// evaluated, or if the scalar's type does not hold the value.
[[nodiscard]] SampleValue scalar_sample(const OpDefinition& definition, const std::string& name,
                                        const Problem& problem);

/// The strides of each of `args`, which come from plan_args; empty for scalars and dense tensors. With `alignments`,
/// the bytes of each argument, strides are raised to odd multiples of them; a tensor that shares a stride scalar with
/// another keeps its strides. Throws DefinitionError if a stride would make elements overlap.
[[nodiscard]] std::vector<std::vector<StrideStep>> sample_strides(const OpDefinition& definition,
                                                                  const Problem& problem,
                                                                  std::span<const PlannedArg> args,
                                                                  std::span<const std::size_t> alignments = {});

/// Refuses a formula of a sample that was evaluated: throws DefinitionError at its place.
[[noreturn]] void refuse_sample(const Formula& formula, std::string message);

/// The name of the draw's number (1, 2, …) in formulas, unless the op gives that name another meaning.
inline constexpr std::string_view kDraw = "draw";

/// A scalar whose value tensor formulas may use.
[[nodiscard]] bool is_whole_scalar(const Argument& arg) noexcept;

/// The names that tensor formulas see: the problem's names, the values of whole-number scalars, `draw`, and the
/// element's indices. The earlier of two equal names wins.
class SampleScope : public Scope {
 public:
  /// Keeps references: `definition` and `problem` must outlive the scope.
  SampleScope(const OpDefinition& definition, const Problem& problem, std::uint64_t draw);
  /// Sets the names and values of the indices, slowest first. Keeps references to both.
  void set_indices(std::span<const std::string> names, std::span<const std::int64_t> values);
  [[nodiscard]] std::optional<Value> find(std::string_view name) const override;
  [[nodiscard]] std::vector<std::string> names() const override;

 private:
  const OpDefinition& definition_;
  const Problem& problem_;
  std::int64_t draw_;
  std::span<const std::string> index_names_;
  std::span<const std::int64_t> index_values_;
};

/// Whole numbers from `from` to below `to`; some elements are `sometimes` instead.
struct WholeBounds {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::optional<std::int64_t> sometimes{};
};

/// The bounds of a "range", "prefix" or "permutation". Throws DefinitionError if they contain no number, more than
/// 2^63-1, or one that the argument's type does not hold.
[[nodiscard]] WholeBounds whole_bounds(const Sample& sample, const PlannedArg& arg, const Scope& scope);

/// The definition with sample set `index`: 0 is the first, followed by `more_samples`.
[[nodiscard]] OpDefinition with_samples(const OpDefinition& definition, std::size_t index);

/// All uses of another op's reference, in all sample sets.
[[nodiscard]] std::vector<const MadeInput*> made_inputs_of(const OpDefinition& definition);

/// All attributes of the op that makes an input for problems of `spec`, in that op's order.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> attributes_of(const MadeInput& made, const OpSpec& spec);

/// The problem that makes the input `arg` of `problem`. Throws DefinitionError if it is outside the other op's domain,
/// or if the output is absent or differs from `arg` in shape.
[[nodiscard]] Problem problem_of(const MadeInput& made, const PlannedArg& arg, const Problem& problem);

/// Whether a type of whole numbers holds a value.
[[nodiscard]] bool holds(DType type, std::int64_t value) noexcept;

}  // namespace tilewright
