// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Reads texts that name things, `softmax[dtype=bf16]{rows=8,cols=100}` and `onchip{vec=4}`: a word, then lists of
/// `name=value` in brackets. Spaces between the parts are ignored. Short-lived, for one thread.
namespace tilewright {

class KeyReader {
 public:
  struct Pair {
    std::string name;
    std::string value;
    /// Offsets in the text, for fail().
    std::size_t name_at = 0;
    std::size_t value_at = 0;
  };

  /// `what` names the text in messages: "shape key", "config". `what` and `text` must outlive the reader.
  KeyReader(std::string_view what, std::string_view text) : what_(what), text_(text) {}

  /// Reads letters, digits and underscores. Throws UsageError "expected …" with `expected` if there are none.
  [[nodiscard]] std::string word(std::string_view expected);
  /// True if the next character is `c`.
  [[nodiscard]] bool next_is(char c);
  /// The pairs of a list between `open` and `close`; empty if the next character is not `open`. Throws UsageError for
  /// an unclosed list, an empty name or value, and a repeated name.
  [[nodiscard]] std::vector<Pair> pairs(char open, char close);
  /// Throws UsageError if the text does not end here.
  void end();

  [[nodiscard]] std::size_t offset() const noexcept { return at_; }
  /// Throws UsageError with the text, the column of `offset`, the message and the hint.
  [[noreturn]] void fail(std::size_t offset, std::string_view message, std::string_view hint = {}) const;

 private:
  void skip_spaces();
  void expect(char c, std::string_view hint);

  std::string_view what_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace tilewright
