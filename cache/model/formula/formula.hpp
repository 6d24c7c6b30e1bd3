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

/// The value of a name: a number, or text (an attribute's value, the dtype) that lives as long as its owner.
using Value = std::variant<std::int64_t, std::string_view>;

/// The names of a formula and their values.
class Scope {
 public:
  virtual ~Scope() = default;
  /// The value of `name`, or nullopt if this scope lacks it.
  [[nodiscard]] virtual std::optional<Value> find(std::string_view name) const = 0;
  /// All names of the scope, for "did you mean …?".
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
};

/// The place of a formula's first character in a file (inside the quotes), for error messages. Lines and columns count
/// from 1, columns in characters. Line 0: not in a file; `file` may then name the formula's owner.
struct SourcePlace {
  std::string file;
  int line = 0;
  int column = 0;
};

/// A part of a formula with a place of its own.
struct FormulaPiece {
  std::string text;
  SourcePlace place;
};

/// A name that a formula may mention, for Formula::check.
struct KnownName {
  std::string name;
  /// All texts that it can stand for; empty: it is a number.
  std::vector<std::string> texts;
};

class Formula {
 public:
  /// The formula "0".
  Formula();
  /// Throws DefinitionError with the place of the first mistake.
  [[nodiscard]] static Formula parse(std::string text, SourcePlace place = {});
  /// The formula whose text is that of all pieces joined. There must be at least one piece, and none may be empty. A
  /// mistake has its place in its piece.
  [[nodiscard]] static Formula parse(const std::vector<FormulaPiece>& pieces);

  /// Throws DefinitionError for an unknown name, overflow, division by zero, or text where a number is needed.
  [[nodiscard]] Value evaluate(const Scope& scope) const;
  [[nodiscard]] std::int64_t integer(const Scope& scope) const;
  /// True if the value is not 0.
  [[nodiscard]] bool truth(const Scope& scope) const;

  /// As written.
  [[nodiscard]] const std::string& text() const noexcept;
  /// The pieces that it was parsed from.
  [[nodiscard]] std::vector<FormulaPiece> pieces() const;
  /// Its tokens with one space between them, so that spacing does not count. Hashes are made of it.
  [[nodiscard]] std::string canonical() const;
  /// The place of its first character.
  [[nodiscard]] const SourcePlace& place() const noexcept;
  /// All names that the formula mentions, each once, in order of appearance, without `sizeof`'s operand.
  [[nodiscard]] std::vector<std::string> names() const;

  /// All mistakes that can be found without evaluation, also in branches that no evaluation reaches: unknown names,
  /// text where a number is needed, and comparison with a text that the name cannot have (`act == 'glu'`).
  [[nodiscard]] std::vector<Diagnostic> check(std::span<const KnownName> known) const;

  /// Compares the text; the place does not count.
  friend bool operator==(const Formula& a, const Formula& b) noexcept { return a.text() == b.text(); }

 private:
  struct Parsed;
  explicit Formula(std::shared_ptr<const Parsed> parsed);
  std::shared_ptr<const Parsed> parsed_;
};

/// " (cols=1001, vec=8)": the values of those names of the formula that `scope` knows; empty if it knows none.
[[nodiscard]] std::string values_in(const Formula& formula, const Scope& scope);

}  // namespace tilewright
