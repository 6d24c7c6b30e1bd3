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

/// A problem: op + dtype + attributes + dims. The shape key is its canonical text,
/// `gemm[dtype=bf16,layout=nt]{m=64,n=4096,k=4096}`: dtype first, then all attributes and dims in the definition's
/// order. The part before `{` is the op's spec.
namespace tilewright {

/// An op with its dtype and attributes fixed, as an application opens it.
struct OpSpec {
  std::string op;
  DType dtype = DType::f32;
  /// All of the op's attributes, in its order.
  std::vector<std::pair<std::string, std::string>> attributes;

  /// `softmax[dtype=bf16]`
  [[nodiscard]] std::string text() const;
  /// The value of an attribute; null if the op has no such attribute.
  [[nodiscard]] const std::string* attribute(std::string_view name) const noexcept;
  friend bool operator==(const OpSpec&, const OpSpec&) = default;
};

struct Problem {
  OpSpec spec;
  /// In the op's order; all values are ≥ 1. For a bucketed dim (interface.hpp), make_problem() and parse_problem()
  /// store the bucket.
  std::vector<std::pair<std::string, std::int64_t>> dims;

  /// The shape key; parse_problem() reads it back.
  [[nodiscard]] std::string key() const;
  /// Throws UsageError, with the nearest name, if the op has no such dim.
  [[nodiscard]] std::int64_t dim(std::string_view name) const;
  friend bool operator==(const Problem&, const Problem&) = default;
};

/// The extents of a problem's dims, in the op's order.
using ShapeDims = std::vector<std::int64_t>;
[[nodiscard]] ShapeDims shape_of(const Problem& problem);

/// The op's name at the start of "softmax[dtype=bf16]{…}"; the rest is not read. Throws UsageError if the text does not
/// begin with a name.
[[nodiscard]] std::string op_name_of(std::string_view text);

/// Reads a spec: `softmax[dtype=bf16]`, in any order. An omitted attribute takes its first value, an omitted dtype the
/// first listed. Throws UsageError with the text, the column and the nearest name for an unknown dtype, attribute or
/// value, for a repeated one, for another op, and for dims (`{…}`), which a spec does not have.
[[nodiscard]] OpSpec parse_spec(std::string_view text, const OpInterface& interface);

/// Reads a shape key, dims in any order. Throws UsageError as parse_spec(), for dims that are missing, repeated,
/// unknown, not whole numbers, < 1 or beyond 2^63-1, and for a problem outside the op's domain.
[[nodiscard]] Problem parse_problem(std::string_view text, const OpInterface& interface);

/// Makes a problem from dims in the op's order; `spec` must be of the interface's op. Throws UsageError for a wrong
/// number of dims, a dim < 1, and a problem outside the op's domain.
[[nodiscard]] Problem make_problem(const OpSpec& spec, const OpInterface& interface,
                                   std::span<const std::int64_t> dims);

/// Reads a whole number ≥ 1 for the dim called `name`. Throws UsageError that names the dim and its fault.
[[nodiscard]] std::int64_t parse_dim(std::string_view name, std::string_view text);

/// The names of a problem (dims, attributes, `dtype`) for formulas.
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
