// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "cache/base/units.hpp"
#include "tuner/report/common_parts.hpp"
#include "tuner/report/render.hpp"

namespace tilewright {
namespace {

constexpr std::size_t kGap = 2;
// The least width of a column broken over lines: a word a line reads worse than a line too long.
constexpr std::size_t kNarrowest = 22;
// The least width of such a column while there is a column to spare.
constexpr std::size_t kComfortable = 30;

/// One column as text: its cells, width and alignment.
struct TextColumn {
  std::string heading;
  std::vector<std::string> cells;
  std::size_t width = 0;
  bool numbers = false;
  bool common = false;
  bool spare = false;
  bool breakable = false;
  bool config = false;
  bool mark = false;
};

constexpr const char* kBold = "\x1b[1m";
constexpr const char* kPlain = "\x1b[0m";

bool is_number(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

void fit_width(TextColumn& column) {
  column.width = display_width(column.heading);
  for (const std::string& cell : column.cells) column.width = std::max(column.width, display_width(cell));
}

std::string mark_text(const Cell& cell) {
  const bool* marked = std::get_if<bool>(&cell);
  return marked != nullptr && *marked ? "*" : "";
}

std::vector<TextColumn> text_columns(const Table& table) {
  std::vector<TextColumn> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& from = table.columns[i];
    if (from.shown == Shown::programs) continue;
    TextColumn column;
    column.heading = from.heading;
    column.common = from.common;
    column.spare = from.spare;
    column.breakable = from.breakable;
    column.config = from.config;
    column.mark = from.mark;
    for (const auto& row : table.rows) {
      column.cells.push_back(from.mark ? mark_text(row[i]) : show_cell(row[i], from.unit));
      column.numbers = column.numbers || is_number(row[i]);
    }
    fit_width(column);
    columns.push_back(std::move(column));
  }
  return columns;
}

std::size_t total_width(const std::vector<TextColumn>& columns) {
  const std::size_t gaps = columns.empty() ? 0 : (columns.size() - 1) * kGap;
  return std::accumulate(columns.begin(), columns.end(), gaps,
                         [](std::size_t sum, const TextColumn& column) { return sum + column.width; });
}

/// Takes out the columns with equal cells in all rows, until the rest fits; returns their texts.
std::vector<std::string> lift_common(std::vector<TextColumn>& columns, std::size_t width) {
  std::vector<std::string> said;
  // From the right: readers look first for what is on the left.
  for (std::size_t i = columns.size(); i-- > 0 && total_width(columns) > width;) {
    const auto& cells = columns[i].cells;
    const bool equal = std::adjacent_find(cells.begin(), cells.end(), std::not_equal_to<>()) == cells.end();
    if (!columns[i].common || cells.empty() || !equal) continue;
    // A column of unknown cells needs no line.
    const bool empty = cells.front().empty() || cells.front() == "-";
    if (!empty) said.insert(said.begin(), fmt::format("{}: {}", columns[i].heading, cells.front()));
    columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return said;
}

/// Takes the parameters that all configs share out of them, until the rest fits; returns these parameters.
std::vector<std::string> lift_parameters(std::vector<TextColumn>& columns, std::size_t width) {
  std::vector<std::string> said;
  for (TextColumn& column : columns) {
    if (!column.config || column.cells.size() < 2 || total_width(columns) <= width) continue;
    const std::vector<std::string> common = take_common_parameters(column.cells);
    if (common.empty()) continue;
    said.push_back(fmt::format("{}, in common: {}", column.heading, fmt::join(common, ", ")));
    fit_width(column);
  }
  return said;
}

/// Drops spare columns, the last first, until the rest fits with the breakable ones comfortably wide. A spare column of
/// unknown cells is always dropped.
void drop_spare(std::vector<TextColumn>& columns, std::size_t width) {
  const auto too_wide = [&] {
    std::size_t total = total_width(columns);
    for (const TextColumn& column : columns) {
      if (column.breakable) total -= column.width - std::min(column.width, kComfortable);
    }
    return total > width;
  };
  std::erase_if(columns, [](const TextColumn& column) {
    const auto silent = [](const std::string& cell) { return cell == "-"; };
    return column.spare && std::all_of(column.cells.begin(), column.cells.end(), silent);
  });
  for (std::size_t i = columns.size(); i-- > 0 && too_wide();) {
    if (columns[i].spare) columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// "/usr/", "lib/", "libcuda.so": the parts that make up `text`.
std::vector<std::string> parts_of_path(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char byte : text) {
    parts.back() += byte;
    if (byte == '/' && parts.back().size() > 1) parts.emplace_back();
  }
  return parts;
}

/// Breaks a text into pieces of at most `width` columns, after a comma, a bar or a blank; a word wider than a piece,
/// such as a path, is broken after a slash.
std::vector<std::string> break_text(const std::string& text, std::size_t width) {
  std::vector<std::string> pieces(1);
  std::string word;
  const auto add = [&](const std::string& part) {
    if (!pieces.back().empty() && display_width(pieces.back() + part) > width) pieces.emplace_back();
    pieces.back() += part;
  };
  const auto flush = [&] {
    // A blank at the end of a line does not begin the next.
    if (word == " " && display_width(pieces.back()) >= width) return word.clear();
    if (display_width(word) > width) {
      for (const std::string& part : parts_of_path(word)) add(part);
    } else {
      add(word);
    }
    word.clear();
  };
  for (const char byte : text) {
    word += byte;
    if (byte == ',' || byte == '|' || byte == ' ') flush();
  }
  flush();
  return pieces;
}

std::string padded(const std::string& text, const TextColumn& column) {
  const std::string blanks(column.width - std::min(column.width, display_width(text)), ' ');
  return column.numbers ? blanks + text : text + blanks;
}

std::string joined(const std::vector<std::string>& cells) {
  std::string line = fmt::format("{}", fmt::join(cells, std::string(kGap, ' ')));
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// One row, on as many lines as its cell with the most pieces.
std::string row_text(const std::vector<TextColumn>& columns, std::size_t row) {
  std::vector<std::vector<std::string>> pieces;
  std::size_t lines = 1;
  for (const TextColumn& column : columns) {
    const std::string& cell = column.cells[row];
    pieces.push_back(column.breakable ? break_text(cell, column.width) : std::vector<std::string>{cell});
    lines = std::max(lines, pieces.back().size());
  }
  std::string text;
  for (std::size_t line = 0; line < lines; ++line) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      cells.push_back(padded(line < pieces[i].size() ? pieces[i][line] : "", columns[i]));
    }
    text += joined(cells);
  }
  return text;
}

void narrow_breakable(std::vector<TextColumn>& columns, std::size_t width) {
  // The widest gives way first, so that several become equally wide.
  while (total_width(columns) > width) {
    TextColumn* widest = nullptr;
    for (TextColumn& column : columns) {
      const bool can = column.breakable && column.width > std::max(kNarrowest, display_width(column.heading));
      if (can && (widest == nullptr || column.width > widest->width)) widest = &column;
    }
    if (widest == nullptr) return;
    --widest->width;
  }
}

/// Wraps a sentence at `width`; 0: one line.
std::string wrapped(const std::string& sentence, std::size_t width) {
  if (width == 0) return sentence + "\n";
  std::string text;
  for (std::string line : break_text(sentence, width)) {
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string grid_text(const std::vector<TextColumn>& columns, std::size_t rows, bool colour) {
  std::vector<std::string> headings;
  std::vector<std::string> rules;
  for (const TextColumn& column : columns) {
    headings.push_back(padded(column.heading, column));
    rules.emplace_back(column.width, '-');
  }
  std::string text = joined(headings) + joined(rules);
  for (std::size_t row = 0; row < rows; ++row) {
    const bool stands_out = colour && std::any_of(columns.begin(), columns.end(), [row](const TextColumn& column) {
                              return column.mark && !column.cells[row].empty();
                            });
    std::string lines = row_text(columns, row);
    lines.pop_back();
    text += stands_out ? fmt::format("{}{}{}\n", kBold, lines, kPlain) : lines + "\n";
  }
  return text;
}

/// A value behind `indent` columns, on several lines if its column may be broken.
std::string record_value(const std::string& text, const Column& column, std::size_t indent, std::size_t width) {
  if (!column.breakable || width <= indent + kNarrowest || display_width(text) + indent <= width) return text + "\n";
  std::string broken;
  for (std::string piece : break_text(text, width - indent)) {
    piece.erase(piece.find_last_not_of(' ') + 1);
    broken += (broken.empty() ? "" : std::string(indent, ' ')) + piece + "\n";
  }
  return broken;
}

std::string records_text(const Table& table, std::size_t width) {
  std::size_t widest = 0;
  for (const Column& column : table.columns) {
    if (column.shown != Shown::programs) widest = std::max(widest, display_width(column.heading));
  }
  std::string text;
  for (const auto& row : table.rows) {
    if (!text.empty()) text += "\n";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Column& column = table.columns[i];
      if (column.shown == Shown::programs || std::holds_alternative<std::monostate>(row[i])) continue;
      const std::string blanks(widest + kGap - display_width(column.heading), ' ');
      text += column.heading + blanks + record_value(show_cell(row[i], column.unit), column, widest + kGap, width);
    }
  }
  return text;
}

std::string notes_text(const Table& table, std::size_t width, std::string_view before_command) {
  std::string text;
  for (const std::string& note : table.notes) text += wrapped(note, width);
  for (const Advice& advice : table.advice) {
    text += wrapped(advice.says, width);
    // Not broken: people copy them.
    for (const std::string& command : advice.commands) text += fmt::format("{}{}\n", before_command, command);
  }
  return text;
}

}  // namespace

std::string render_text(const Table& table, std::size_t width, bool colour) {
  std::string text = table.title.empty() ? "" : wrapped(table.title, width);
  std::vector<TextColumn> columns = text_columns(table);
  if (width != 0 && !table.as_records) {
    for (const std::string& said : lift_common(columns, width)) text += wrapped(said, width);
    for (const std::string& said : lift_parameters(columns, width)) text += wrapped(said, width);
    drop_spare(columns, width);
    narrow_breakable(columns, width);
  }
  if (!text.empty() && !table.rows.empty()) text += "\n";
  if (!table.rows.empty())
    text += table.as_records ? records_text(table, width) : grid_text(columns, table.rows.size(), colour);
  const std::string notes = notes_text(table, width, "  ");
  return notes.empty() ? text : text + "\n" + notes;
}

std::string render_markdown(const Table& table) {
  std::string text = table.title.empty() ? "" : fmt::format("**{}**\n\n", table.title);
  const std::vector<TextColumn> columns = text_columns(table);
  const auto cell_text = [](const std::string& cell) {
    std::string escaped;
    for (const char byte : cell) {
      if (byte == '|') escaped += '\\';
      escaped += byte == '\n' ? ' ' : byte;
    }
    return escaped;
  };
  text += '|';
  for (const TextColumn& column : columns) text += fmt::format(" {} |", cell_text(column.heading));
  text += "\n|";
  for (const TextColumn& column : columns) text += column.numbers ? " ---: |" : " --- |";
  text += '\n';
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    text += '|';
    for (const TextColumn& column : columns) text += fmt::format(" {} |", cell_text(column.cells[row]));
    text += '\n';
  }
  const std::string notes = notes_text(table, 0, "\n    ");
  return notes.empty() ? text : text + "\n" + notes;
}

}  // namespace tilewright
