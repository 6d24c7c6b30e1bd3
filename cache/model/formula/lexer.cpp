// SPDX-License-Identifier: Apache-2.0
#include "cache/model/formula/lexer.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "cache/base/ascii.hpp"

namespace tilewright {
namespace {

// Longer symbols first: "<=" must not be read as "<" and "=".
constexpr std::array<std::string_view, 14> kSymbols{"==", "!=", "<=", ">=", "<", ">", "+",
                                                    "-",  "*",  "/",  "%",  "(", ")", ","};

/// Operators of C and Python, and the advice for each.
struct Foreign {
  std::string_view spelling;
  std::string_view meant;
};
constexpr std::array<Foreign, 11> kForeign{{{"&&", "write 'and'"},
                                            {"||", "write 'or'"},
                                            {"&", "there are no bit operators"},
                                            {"|", "there are no bit operators"},
                                            {"^", "there are no bit operators"},
                                            {"!", "write 'not'"},
                                            {"=", "to compare, write '=='"},
                                            {"?", "write select(condition, a, b)"},
                                            {"\"", "text stands in single quotes"},
                                            {".", "formulas have whole numbers only"},
                                            {"[", "group with parentheses"}}};

bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Lexer {
 public:
  Lexer(const SourceText& source, Dialect dialect) : source_(source), text_(source.text()), dialect_(dialect) {}

  Token next() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    if (at_ == text_.size()) return {Token::Kind::end, at_, {}, 0};
    const char first = text_[at_];
    if (is_digit(first)) return number();
    if (is_word_start(first)) return taken(Token::Kind::word, run_of(is_word_part));
    if (first == '\'') return quoted();
    for (const std::string_view symbol : kSymbols) {
      if (text_.substr(at_).starts_with(symbol)) return taken(Token::Kind::symbol, symbol.size());
    }
    if (first == '=' && dialect_ == Dialect::question) return taken(Token::Kind::symbol, 1);
    refuse();
  }

 private:
  std::size_t run_of(bool (*belongs)(char) noexcept) const {
    std::size_t end = at_;
    while (end < text_.size() && belongs(text_[end])) ++end;
    return end - at_;
  }

  Token taken(Token::Kind kind, std::size_t length) {
    const Token token{kind, at_, text_.substr(at_, length), 0};
    at_ += length;
    return token;
  }

  Token number() {
    if (dialect_ == Dialect::question) {
      const std::size_t whole = run_of(is_digit);
      std::size_t end = at_ + whole;
      if (end < text_.size() && text_[end] == '.') {
        do ++end;
        while (end < text_.size() && is_word_part(text_[end]));
        return fraction(end - at_);
      }
    }
    Token token = taken(Token::Kind::number, run_of(is_word_part));
    const char* const end = token.spelling.data() + token.spelling.size();
    const auto [stop, error] = std::from_chars(token.spelling.data(), end, token.number);
    if (stop != end) source_.fail(token.offset, fmt::format("'{}' is not a whole number", token.spelling));
    if (error != std::errc()) source_.fail(token.offset, fmt::format("{} is beyond 2^63-1", token.spelling));
    return token;
  }

  Token fraction(std::size_t length) {
    const Token token = taken(Token::Kind::fraction, length);
    double value = 0;
    const char* const end = token.spelling.data() + token.spelling.size();
    if (std::from_chars(token.spelling.data(), end, value).ptr != end) {
      source_.fail(token.offset, fmt::format("'{}' is not a number", token.spelling));
    }
    return token;
  }

  Token quoted() {
    const std::size_t close = text_.find('\'', at_ + 1);
    if (close == std::string_view::npos) source_.fail(at_, "text without its closing quote");
    Token token = taken(Token::Kind::text, close + 1 - at_);
    token.spelling = token.spelling.substr(1, token.spelling.size() - 2);
    return token;
  }

  [[noreturn]] void refuse() const {
    const std::string_view rest = text_.substr(at_);
    for (const Foreign& foreign : kForeign) {
      if (rest.starts_with(foreign.spelling)) {
        const bool point = foreign.spelling == "." && dialect_ == Dialect::question;
        source_.fail(at_, fmt::format("'{}' is not understood", foreign.spelling),
                     fmt::format("; {}", point ? "a fraction begins with a digit: 0.5" : foreign.meant));
      }
    }
    // The whole character, which may have several bytes.
    std::size_t length = 1;
    while (length < rest.size() && (static_cast<unsigned char>(rest[length]) >> 6) == 2) ++length;
    source_.fail(at_, fmt::format("'{}' is not understood", rest.substr(0, length)));
  }

  const SourceText& source_;
  std::string_view text_;
  Dialect dialect_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Token> tokens_of(const SourceText& source, Dialect dialect) {
  Lexer lexer(source, dialect);
  std::vector<Token> tokens;
  do {
    tokens.push_back(lexer.next());
  } while (tokens.back().kind != Token::Kind::end);
  return tokens;
}

std::string canonical_text(const std::vector<Token>& tokens) {
  std::string text;
  for (const Token& token : tokens) {
    if (token.kind == Token::Kind::end) break;
    if (!text.empty()) text += ' ';
    if (token.kind == Token::Kind::text) {
      text += fmt::format("'{}'", token.spelling);
    } else {
      text += token.spelling;
    }
  }
  return text;
}

}  // namespace tilewright
