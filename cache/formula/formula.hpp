// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Integer formulas: the language of a definition's constraints, launch geometry and costs (docs/definitions.md).
///
/// 64-bit integers, `+ - * / %`, comparison, `and or not`, the functions `ceil_div round_up min max select pow2_ceil
/// log2 sizeof`, names, and text in single quotes that may only be compared (`act == 'gelu'`). Overflow, division by
/// zero and an unknown name are errors with file, line and column: a wrong formula never yields a number.
/// A parsed Formula is immutable and may be shared and evaluated by any number of threads.
namespace tilewright {

/// What a name stands for: a number, or text (an attribute's value, the dtype).
using Value = std::variant<std::int64_t, std::string>;

/// Where the names of a formula are looked up.
class Scope {
 public:
  virtual ~Scope() = default;
  /// The value of `name`, or nothing when this scope does not know it.
  [[nodiscard]] virtual std::optional<Value> find(std::string_view name) const = 0;
  /// The names that exist, for "did you mean …?".
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
};

/// Where a formula stands in a file, so that its mistakes can be found; columns count from 1.
struct SourcePlace {
  std::string file;
  int line = 0;
  int column = 0;
};

class Formula {
 public:
  /// The formula "0".
  Formula();
  /// Throws DefinitionError with the place of the first mistake.
  [[nodiscard]] static Formula parse(std::string text, SourcePlace place = {});

  /// Throws DefinitionError for an unknown name, overflow, division by zero, or text where a number is needed.
  [[nodiscard]] Value evaluate(const Scope& scope) const;
  [[nodiscard]] std::int64_t integer(const Scope& scope) const;
  /// A number other than 0.
  [[nodiscard]] bool truth(const Scope& scope) const;

  /// As written.
  [[nodiscard]] const std::string& text() const noexcept;
  [[nodiscard]] const SourcePlace& place() const noexcept;
  /// Every name the formula mentions, each once, in order of appearance; `sizeof`'s operand is not one.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  struct Parsed;
  explicit Formula(std::shared_ptr<const Parsed> parsed);
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace tilewright
