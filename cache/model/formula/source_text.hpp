// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/model/formula/formula.hpp"

/// A formula's text and its place in a file. Translates an offset in the text to a file's line and column.
namespace tilewright {

class SourceText {
 public:
  SourceText(std::string text, SourcePlace place) : text_(std::move(text)), pieces_{{0, std::move(place)}} {}
  /// Joins pieces, as Formula::parse takes them.
  explicit SourceText(const std::vector<FormulaPiece>& pieces);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const SourcePlace& place() const noexcept { return pieces_.front().place; }

  [[nodiscard]] std::vector<FormulaPiece> pieces() const;

  /// "`what` in `the formula``hint`", with the place of the byte at `offset`. If the formula is in no file, the message
  /// gives the column within the formula instead.
  [[nodiscard]] Diagnostic diagnostic(std::size_t offset, std::string_view what, std::string_view hint = {}) const;
  /// Throws diagnostic() as a DefinitionError.
  [[noreturn]] void fail(std::size_t offset, std::string_view what, std::string_view hint = {}) const;

 private:
  /// The piece's beginning: in `text_`, in bytes, and in its file.
  struct Piece {
    std::size_t begin = 0;
    SourcePlace place;
  };

  std::string text_;
  /// At least one.
  std::vector<Piece> pieces_;
};

}  // namespace tilewright
