// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/base/dtype.hpp"
#include "cache/model/interface.hpp"

/// A problem: op + dtype + attributes + dims. The shape key is its one canonical text,
/// `gemm[dtype=bf16,layout=nt]{m=64,n=4096,k=4096}`: dtype first, then every attribute and every dim in the
/// definition's order, nothing left out. The part before `{` is the op's spec.
namespace tilewright {

/// An op with its dtype and attributes fixed: what an application opens.
struct OpSpec {
  std::string op;
  DType dtype = DType::f32;
  /// All of the op's attributes, in its order.
  std::vector<std::pair<std::string, std::string>> attributes;

  /// `softmax[dtype=bf16]`
  [[nodiscard]] std::string text() const;
  /// The value of an attribute; null when the op has none of that name.
  [[nodiscard]] const std::string* attribute(std::string_view name) const noexcept;
  friend bool operator==(const OpSpec&, const OpSpec&) = default;
};

struct Problem {
  OpSpec spec;
  /// In the op's order; every value ≥ 1. Of a bucketed dim (interface.hpp) a problem that was made or parsed has the
  /// bucket.
  std::vector<std::pair<std::string, std::int64_t>> dims;

  /// The shape key; parse_problem gives an equal problem.
  [[nodiscard]] std::string key() const;
  /// Throws UsageError, with the nearest right name, for a dim that the op does not have.
  [[nodiscard]] std::int64_t dim(std::string_view name) const;
  friend bool operator==(const Problem&, const Problem&) = default;
};

/// The lengths of a problem's dims, in the op's order.
using ShapeDims = std::vector<std::int64_t>;
[[nodiscard]] ShapeDims shape_of(const Problem& problem);

/// The op's name in "softmax[dtype=bf16]{…}", before anything else is known about it; what follows is not looked at.
/// Throws UsageError when the text does not begin with a name.
[[nodiscard]] std::string op_name_of(std::string_view text);

/// Reads a spec: `softmax[dtype=bf16]`, in any order; omitted attributes take their first value, an omitted dtype the
/// first listed. Throws UsageError with the text, the column and the nearest right name for an unknown dtype, attribute
/// or value, for one given twice, for another op, and for dims (`{…}`), which are no part of a spec.
[[nodiscard]] OpSpec parse_spec(std::string_view text, const OpInterface& interface);

/// Reads a whole shape key, dims in any order. Throws UsageError as above, for dims that are missing, doubled, unknown,
/// not whole numbers, < 1 or beyond 2^63-1, and for those outside the op's domain.
[[nodiscard]] Problem parse_problem(std::string_view text, const OpInterface& interface);

/// From values in the op's order; `spec` must be one of the interface's op. Throws UsageError when their number is
/// wrong, when one is < 1, and outside the op's domain.
[[nodiscard]] Problem make_problem(const OpSpec& spec, const OpInterface& interface,
                                   std::span<const std::int64_t> dims);

/// A whole number ≥ 1 in `text`, for the dim called `name`. Throws UsageError that says which dim is wrong and why.
[[nodiscard]] std::int64_t parse_dim(std::string_view name, std::string_view text);

/// Names of a problem (dims, attributes, `dtype`) for formulas.
class ProblemScope : public Scope {
 public:
  /// Keeps a reference: `problem` must outlive the scope.
  explicit ProblemScope(const Problem& problem) : problem_(problem) {}
  [[nodiscard]] std::optional<Value> find(std::string_view name) const override;
  [[nodiscard]] std::vector<std::string> names() const override;

 private:
  const Problem& problem_;
};

}  // namespace tilewright
