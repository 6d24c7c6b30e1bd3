// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/tokens.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "cache/base/ascii.hpp"

namespace tilewright::reading {
namespace {

// Longest first. Any other operator is a token of one character.
constexpr std::array<std::string_view, 26> kOperators{"<<=", ">>=", "<=>", "->*", "...", "::", "->", "++", "--",
                                                      "<<",  ">>",  "<=",  ">=",  "==",  "!=", "&&", "||", "+=",
                                                      "-=",  "*=",  "/=",  "%=",  "&=",  "|=", "^=", "##"};

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (skip_blank()) continue;
      const std::size_t begin = at_;
      step();
      tokens_.append(text_.substr(begin, at_ - begin));
      // The parenthesis of a macro with parameters follows its name directly.
      if (place_ == Place::macro && at_ < text_.size() && text_[at_] == '(') tokens_ += '(';
      tokens_ += '\n';
      line_is_empty_ = false;
    }
    end_directive();
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] bool starts(std::string_view with) const { return text_.substr(at_).starts_with(with); }

  /// Skips white space, a comment or a line continuation; false if there is none.
  bool skip_blank() {
    const char c = text_[at_];
    if (c == '\n') {
      end_directive();
      line_is_empty_ = true;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (starts("\\\n")) {
      at_ += 2;
    } else if (starts("\\\r\n")) {
      at_ += 3;
    } else if (starts("//")) {
      skip_line_comment();
    } else if (starts("/*")) {
      at_ = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
    } else {
      return false;
    }
    return true;
  }

  void skip_line_comment() {
    // A line continuation also continues the comment.
    do {
      at_ = std::min(text_.find('\n', at_ + 1), text_.size());
    } while (at_ < text_.size() && text_[at_ - 1] == '\\');
  }

  void end_directive() {
    if (place_ != Place::code) tokens_ += '\n';
    place_ = Place::code;
  }

  /// Steps past one token.
  void step() {
    const char c = text_[at_];
    if (c == '#' && line_is_empty_) {
      place_ = Place::hash;
      ++at_;
      return;
    }
    const std::size_t begin = at_;
    if (is_word_part(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
      step_word();
    } else if (c == '"' || c == '\'') {
      step_literal();
    } else {
      const auto found = std::ranges::find_if(kOperators, [&](std::string_view each) { return starts(each); });
      at_ += found == kOperators.end() ? 1 : found->size();
    }
    if (place_ == Place::hash && text_.substr(begin, at_ - begin) == "define") {
      place_ = Place::define;
    } else if (place_ != Place::code) {
      place_ = place_ == Place::define ? Place::macro : Place::directive;
    }
  }

  void step_word() {
    const bool is_number = !is_word_part(text_[at_]) || is_digit(text_[at_]);
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const char before = at_ > begin ? text_[at_ - 1] : '\0';
      const bool is_exponent = before == 'e' || before == 'E' || before == 'p' || before == 'P';
      const bool goes_on =
          is_word_part(c) || (is_number && (c == '.' || ((c == '+' || c == '-') && is_exponent) ||
                                            (c == '\'' && at_ + 1 < text_.size() && is_word_part(text_[at_ + 1]))));
      if (!goes_on) break;
      ++at_;
    }
    const std::string_view word = text_.substr(begin, at_ - begin);
    const bool is_prefix = word == "R" || word == "u8R" || word == "uR" || word == "UR" || word == "LR";
    if (is_prefix && at_ < text_.size() && text_[at_] == '"') step_raw_literal();
  }

  void step_literal() {
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
  }

  void step_raw_literal() {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return step_literal();
    const std::string close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + '"';
    const std::size_t end = text_.find(close, open);
    at_ = end == std::string_view::npos ? text_.size() : end + close.size();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string tokens_;
  bool line_is_empty_ = true;
  /// The last token: ordinary code, or a directive's `#`, `define`, macro name or other part.
  enum class Place { code, hash, define, macro, directive } place_ = Place::code;
};

}  // namespace

std::string tokens_of(std::string_view text) { return Tokenizer(text).run(); }

}  // namespace tilewright::reading
