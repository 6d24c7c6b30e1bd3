// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/model/formula/formula.hpp"

/// A formula's text with its place in a file: turns an offset in the text into the place that a reader can go to.
namespace tilewright {

class SourceText {
 public:
  SourceText(std::string text, SourcePlace place) : text_(std::move(text)), pieces_{{0, std::move(place)}} {}
  /// As Formula::parse takes them.
  explicit SourceText(const std::vector<FormulaPiece>& pieces);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const SourcePlace& place() const noexcept { return pieces_.front().place; }

  [[nodiscard]] std::vector<FormulaPiece> pieces() const;

  /// "`what` in `the formula``hint`", with the place of the byte at `offset`. Where the formula stands in no file, the
  /// message tells the column within the formula instead.
  [[nodiscard]] Diagnostic diagnostic(std::size_t offset, std::string_view what, std::string_view hint = {}) const;
  /// Throws that as a DefinitionError.
  [[noreturn]] void fail(std::size_t offset, std::string_view what, std::string_view hint = {}) const;

 private:
  /// Where the piece begins in `text_`, in bytes, and in its file.
  struct Piece {
    std::size_t begin = 0;
    SourcePlace place;
  };

  std::string text_;
  /// At least one.
  std::vector<Piece> pieces_;
};

}  // namespace tilewright
