// SPDX-License-Identifier: Apache-2.0
#include "cache/model/formula/source_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tilewright {
namespace {

/// Counts characters, not bytes, as editors and TOML count columns.
int characters(std::string_view utf8) {
  return static_cast<int>(
      std::count_if(utf8.begin(), utf8.end(), [](char byte) { return (static_cast<unsigned char>(byte) >> 6) != 2; }));
}

}  // namespace

SourceText::SourceText(const std::vector<FormulaPiece>& pieces) {
  for (const FormulaPiece& piece : pieces) {
    pieces_.push_back({text_.size(), piece.place});
    text_ += piece.text;
  }
}

std::vector<FormulaPiece> SourceText::pieces() const {
  std::vector<FormulaPiece> pieces;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const std::size_t end = i + 1 < pieces_.size() ? pieces_[i + 1].begin : text_.size();
    pieces.push_back({text_.substr(pieces_[i].begin, end - pieces_[i].begin), pieces_[i].place});
  }
  return pieces;
}

Diagnostic SourceText::diagnostic(std::size_t offset, std::string_view what, std::string_view hint) const {
  // The last piece that begins at or before the offset.
  const auto behind = std::ranges::upper_bound(pieces_, offset, {}, &Piece::begin);
  const auto& [begin, place] = *std::prev(behind);
  const std::string_view before = std::string_view(text_).substr(begin, offset - begin);
  const int newlines = static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  const int within = characters(before.substr(before.rfind('\n') + 1)) + 1;

  Diagnostic result;
  result.file = place.file.empty() ? "formula" : place.file;
  if (place.line == 0) {
    result.column = within;
    result.message = fmt::format("{} at column {} of `{}`{}", what, within, text_, hint);
    return result;
  }
  result.line = place.line + newlines;
  // Only a piece's first line has text of the file before it.
  result.column = newlines == 0 ? std::max(place.column, 1) + within - 1 : within;
  result.message = fmt::format("{} in `{}`{}", what, text_, hint);
  return result;
}

void SourceText::fail(std::size_t offset, std::string_view what, std::string_view hint) const {
  throw DefinitionError({diagnostic(offset, what, hint)});
}

}  // namespace tilewright
