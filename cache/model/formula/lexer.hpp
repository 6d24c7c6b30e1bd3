// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cache/model/formula/source_text.hpp"

/// Splits a formula's text into tokens. Pure.
namespace tilewright {

/// A `question` about a table's rows is a formula in which `=` means `==` and a number may have a fraction.
enum class Dialect : std::uint8_t { formula, question };

struct Token {
  /// `fraction` is a number with a point; `symbol` is an operator, a parenthesis or a comma; `word` a name, a
  /// function's name or a word operator.
  enum class Kind : std::uint8_t { number, fraction, word, text, symbol, end };
  Kind kind = Kind::end;
  /// The token's offset in the formula, in bytes.
  std::size_t offset = 0;
  /// As written, but `text` without its quotes. Points into the SourceText.
  std::string_view spelling;
  /// The value of a number.
  std::int64_t number = 0;

  [[nodiscard]] bool is_symbol(std::string_view symbol) const noexcept {
    return kind == Kind::symbol && spelling == symbol;
  }
  [[nodiscard]] bool is_word(std::string_view word) const noexcept { return kind == Kind::word && spelling == word; }
};

/// All tokens, the last of kind `end`. They must not outlive `source`. Throws DefinitionError for a character that
/// begins no token, a number that is not whole or beyond 2^63-1, and text without its closing quote.
[[nodiscard]] std::vector<Token> tokens_of(const SourceText& source, Dialect dialect = Dialect::formula);

/// The tokens with one space between them.
[[nodiscard]] std::string canonical_text(const std::vector<Token>& tokens);

}  // namespace tilewright
