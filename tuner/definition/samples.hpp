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

/// The samples of a definition for one problem: values of scalars, strides among them, bounds of whole
/// numbers, the names that formulas see, and the problems of ops that make inputs. Pure.
namespace tilewright {

using SampleValue = std::variant<std::int64_t, double>;

/// The value of the scalar `name`; 0 where the definition has none. Throws DefinitionError when its formula cannot be
/// evaluated.
[[nodiscard]] SampleValue scalar_sample(const OpDefinition& definition, const std::string& name,
                                        const Problem& problem);

/// The strides of each of `args`, which are from plan_args; none of a dense tensor and of a scalar. Where `alignments`
/// has the bytes of each argument, they are raised to multiples of so much, and of no power of two more; a scalar that
/// is the stride of several tensors stays. Throws DefinitionError for a stride with which elements would overlap.
[[nodiscard]] std::vector<std::vector<StrideStep>> sample_strides(const OpDefinition& definition,
                                                                  const Problem& problem,
                                                                  std::span<const PlannedArg> args,
                                                                  std::span<const std::size_t> alignments = {});

/// The name in formulas of the data's number, 1, 2, …, where nothing else of the op is called so.
inline constexpr std::string_view kDraw = "draw";

/// A scalar whose value formulas of tensors may use.
[[nodiscard]] bool is_whole_scalar(const Argument& arg) noexcept;

/// The names that formulas of tensors see: the problem's names, scalars of whole-number types by their values, `draw`,
/// and the indices of an element. Of two with one name the earlier counts.
class SampleScope : public Scope {
 public:
  /// Keeps references: both must outlive the scope.
  SampleScope(const OpDefinition& definition, const Problem& problem, std::uint64_t draw);
  /// Names and values of the indices from now on, slowest first; it keeps references to these, too.
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

/// Whole numbers from `from` to below `to`, and what some are instead.
struct WholeBounds {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::optional<std::int64_t> sometimes{};
};

/// The bounds of a "range", a "prefix" or a "permutation" for an argument of this type. Throws DefinitionError when
/// there is no number in a range, or one that the type does not hold.
[[nodiscard]] WholeBounds whole_bounds(const Sample& sample, const PlannedArg& arg, const Scope& scope);

/// The definition with its samples `index`: 0 is the first, and then those of `more_samples`.
[[nodiscard]] OpDefinition with_samples(const OpDefinition& definition, std::size_t index);

/// Each use of another op's reference by some sample.
[[nodiscard]] std::vector<const MadeInput*> made_inputs_of(const OpDefinition& definition);

/// All attributes of the op that makes an input for problems of `spec`, in its order.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> attributes_of(const MadeInput& made, const OpSpec& spec);

/// The problem that makes the input `arg` of `problem`. Throws DefinitionError for one that is outside that op's
/// domain, and where the output is absent or has another shape than `arg`.
[[nodiscard]] Problem problem_of(const MadeInput& made, const PlannedArg& arg, const Problem& problem);

/// Whether a type of whole numbers holds a value.
[[nodiscard]] bool holds(DType type, std::int64_t value) noexcept;

}  // namespace tilewright
