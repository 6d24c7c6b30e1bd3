// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cache/base/error.hpp"

/// Integer formulas: the language of a definition's constraints, launch geometry and costs (docs/definitions.md).
///
/// 64-bit integers with arithmetic and comparison as in C, `true` (1) and `false` (0), names, functions; `and` and `or`
/// give 0 or 1. `ceil_div` and `round_up` take a divisor > 0, `log2` a number ≥ 1; `pow2_ceil(a)` is 1 for a ≤ 1. Text
/// in single quotes may only be compared (`act == 'gelu'`, `!=`). Overflow, division by zero and an unknown name are
/// errors with their place. A parsed Formula is immutable and may be shared and evaluated by any number of threads.
namespace tilewright {

/// The value of a name: a number, or text (an attribute's value, the dtype), which lives as long as its owner.
using Value = std::variant<std::int64_t, std::string_view>;

/// The names of a formula and their values.
class Scope {
 public:
  virtual ~Scope() = default;
  /// The value of `name`, or nothing when this scope does not know it.
  [[nodiscard]] virtual std::optional<Value> find(std::string_view name) const = 0;
  /// The names that exist, for "did you mean …?".
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
};

/// The place of a formula's first character in a file (inside the quotes), so that its mistakes can be found. Lines and
/// columns count from 1, columns in characters. Line 0: not in a file; `file` may then say what the formula is of.
struct SourcePlace {
  std::string file;
  int line = 0;
  int column = 0;
};

/// A part of a formula that stands at a place of its own.
struct FormulaPiece {
  std::string text;
  SourcePlace place;
};

/// A name that a formula may mention, for Formula::check.
struct KnownName {
  std::string name;
  /// Every text that it can stand for; empty: it is a number.
  std::vector<std::string> texts;
};

class Formula {
 public:
  /// The formula "0".
  Formula();
  /// Throws DefinitionError with the place of the first mistake.
  [[nodiscard]] static Formula parse(std::string text, SourcePlace place = {});
  /// The formula whose text is that of all pieces, one behind the other; there is at least one, and none is empty. A
  /// mistake has the place that it has in its piece.
  [[nodiscard]] static Formula parse(const std::vector<FormulaPiece>& pieces);

  /// Throws DefinitionError for an unknown name, overflow, division by zero, or text where a number is needed.
  [[nodiscard]] Value evaluate(const Scope& scope) const;
  [[nodiscard]] std::int64_t integer(const Scope& scope) const;
  /// A number other than 0.
  [[nodiscard]] bool truth(const Scope& scope) const;

  /// As written.
  [[nodiscard]] const std::string& text() const noexcept;
  /// The text with its places: what it was parsed from.
  [[nodiscard]] std::vector<FormulaPiece> pieces() const;
  /// Without the freedom of spacing: tokens with one space between them. What hashes are made of.
  [[nodiscard]] std::string canonical() const;
  /// The place of its beginning.
  [[nodiscard]] const SourcePlace& place() const noexcept;
  /// Every name the formula mentions, each once, in order of appearance; `sizeof`'s operand is not one.
  [[nodiscard]] std::vector<std::string> names() const;

  /// Every mistake that can be known before evaluation, in the branches that no evaluation reaches too: unknown names,
  /// text where a number is needed, and comparison with a text that a name never is (`act == 'glu'`). None: empty.
  [[nodiscard]] std::vector<Diagnostic> check(std::span<const KnownName> known) const;

  /// The same text; the place does not count.
  friend bool operator==(const Formula& a, const Formula& b) noexcept { return a.text() == b.text(); }

 private:
  struct Parsed;
  explicit Formula(std::shared_ptr<const Parsed> parsed);
  std::shared_ptr<const Parsed> parsed_;
};

/// " (cols=1001, vec=8)": what the formula's names stand for, each that `scope` knows; empty when there is none.
[[nodiscard]] std::string values_in(const Formula& formula, const Scope& scope);

}  // namespace tilewright
