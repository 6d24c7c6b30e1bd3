// SPDX-License-Identifier: Apache-2.0
#include "cache/formula/source_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright {
namespace {

/// Characters, not bytes: editors and TOML count columns so.
int characters(std::string_view utf8) {
  return static_cast<int>(
      std::count_if(utf8.begin(), utf8.end(), [](char byte) { return (static_cast<unsigned char>(byte) >> 6) != 2; }));
}

}  // namespace

Diagnostic SourceText::diagnostic(std::size_t offset, std::string_view what, std::string_view hint) const {
  const std::string_view before = std::string_view(text_).substr(0, offset);
  const int newlines = static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  const int within = characters(before.substr(before.rfind('\n') + 1)) + 1;

  Diagnostic result;
  result.file = place_.file.empty() ? "formula" : place_.file;
  if (place_.line == 0) {
    result.column = within;
    result.message = fmt::format("{} at column {} of `{}`{}", what, within, text_, hint);
    return result;
  }
  result.line = place_.line + newlines;
  // Only the formula's first line shares its line with something before it.
  result.column = newlines == 0 ? std::max(place_.column, 1) + within - 1 : within;
  result.message = fmt::format("{} in `{}`{}", what, text_, hint);
  return result;
}

void SourceText::fail(std::size_t offset, std::string_view what, std::string_view hint) const {
  throw DefinitionError({diagnostic(offset, what, hint)});
}

}  // namespace tilewright
