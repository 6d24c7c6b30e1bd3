// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/device_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "cache/base/ascii.hpp"
#include "cache/base/error.hpp"

namespace tilewright::reading {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Steps through code without comments.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }
  void step() { ++at_; }

  void skip_space() {
    while (!at_end() && is_space(peek())) step();
  }

  std::string_view word() {
    const std::size_t begin = at_;
    while (!at_end() && is_word_part(peek())) step();
    return text_.substr(begin, at_ - begin);
  }

  /// Moves past the next whole word `wanted`; false at the end of the text.
  bool seek(std::string_view wanted) {
    while (!at_end()) {
      if (!is_word_part(peek())) {
        step();
      } else if (word() == wanted) {
        return true;
      }
    }
    return false;
  }

  /// Moves from an opening parenthesis past its closing one. Returns the text between, split at commas, with white
  /// space reduced to single blanks.
  std::vector<std::string> arguments() {
    std::vector<std::string> found{""};
    int depth = 0;
    int angles = 0;  // of template arguments; any other '<' is a comparison that nothing closes
    do {
      const char c = peek();
      const bool opens_all = depth == 0;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (c == '<') ++angles;
      if (c == '>' && angles > 0) --angles;
      if (c == ',' && depth == 1 && angles == 0) {
        found.emplace_back();
      } else if (is_space(c)) {
        if (!found.back().empty() && found.back().back() != ' ') found.back() += ' ';
      } else if (depth > 0 && !opens_all) {
        found.back() += c;
      }
      step();
    } while (depth > 0 && !at_end());
    for (std::string& each : found) {
      if (each.ends_with(' ')) each.pop_back();
    }
    if (found.size() == 1 && found.front().empty()) found.clear();
    return found;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// Words between `__global__` and the kernel's name that may take parentheses of their own.
bool is_decoration(std::string_view word) { return word.starts_with("__") || word == "alignas" || word == "decltype"; }

/// A macro with parentheses of its own, or a kernel in capitals.
bool is_in_capitals(std::string_view word) {
  return std::ranges::none_of(word, [](char c) { return c >= 'a' && c <= 'z'; });
}

struct Include {
  std::string name;
  bool quoted = false;
};

std::optional<Include> include_in(std::string_view line) {
  Cursor cursor(line);
  cursor.skip_space();
  if (cursor.peek() != '#') return std::nullopt;
  cursor.step();
  cursor.skip_space();
  if (cursor.word() != "include") return std::nullopt;
  cursor.skip_space();
  const char open = cursor.peek();
  if (open != '"' && open != '<') return std::nullopt;
  const std::size_t begin = line.find(open) + 1;
  const std::size_t end = line.find(open == '<' ? '>' : '"', begin);
  if (end == std::string_view::npos) return std::nullopt;
  return Include{std::string(line.substr(begin, end - begin)), open == '"'};
}

std::vector<Include> includes_of(const std::string& text) {
  std::vector<Include> found;
  // Blanked code shows which lines are directives. The name stands in a literal, so it is read from `text`.
  const std::string code = without_comments(text);
  for (std::size_t begin = 0; begin < code.size();) {
    const std::size_t end = std::min(code.find('\n', begin), code.size());
    const std::string_view blanked = std::string_view(code).substr(begin, end - begin);
    if (blanked.find('#') != std::string_view::npos) {
      const std::size_t hash = blanked.find_first_not_of(" \t");
      if (auto include = include_in(std::string_view(text).substr(begin + hash, end - begin - hash))) {
        found.push_back(*std::move(include));
      }
    }
    begin = end + 1;
  }
  return found;
}

/// Headers of the C++ library have no ending; these are the common ones of C. The device compiler has none of them, and
/// in the emulator their declarations clash with its own in twenty lines of glibc errors.
bool is_of_the_host(const std::string& header) {
  constexpr std::array<std::string_view, 9> kOfC{"math.h",   "stdio.h",  "stdlib.h", "string.h", "assert.h",
                                                 "stdint.h", "stddef.h", "limits.h", "float.h"};
  return header.find_first_of("./") == std::string::npos || std::ranges::find(kOfC, header) != kOfC.end();
}

class Closure {
 public:
  explicit Closure(const std::vector<std::filesystem::path>& kernel_dirs) : kernel_dirs_(kernel_dirs) {}

  void follow(const std::filesystem::path& file) {
    const auto is_it = [&](const SourceFile& known) { return known.path == file; };
    if (std::ranges::any_of(result_.files, is_it)) return;
    result_.files.push_back({file, read_file(file)});
    const std::vector<Include> includes = includes_of(result_.files.back().text);
    for (const Include& include : includes) {
      if (const auto found = find(include, file.parent_path())) {
        follow(*found);
      } else if (include.quoted && !include.name.starts_with("cuda_")) {
        result_.wrong_includes.push_back(
            fmt::format("{} includes \"{}\", which is neither beside it nor in the kernels folder",
                        file.filename().string(), include.name));
      } else if (!include.quoted && is_of_the_host(include.name)) {
        result_.wrong_includes.push_back(
            fmt::format("{} includes <{}>, which is a header of the host: device code has expf, rsqrtf, min, int64_t "
                        "without it, and includes device/*.cuh, <cuda_fp16.h> and <cuda_bf16.h> at most",
                        file.filename().string(), include.name));
      }
    }
  }

  SourceClosure take() { return std::move(result_); }

 private:
  [[nodiscard]] std::optional<std::filesystem::path> find(const Include& include,
                                                          const std::filesystem::path& folder) const {
    std::vector<std::filesystem::path> places;
    if (include.quoted) places.push_back(folder);
    places.insert(places.end(), kernel_dirs_.begin(), kernel_dirs_.end());
    for (const std::filesystem::path& place : places) {
      const std::filesystem::path file = place / include.name;
      std::error_code ignored;
      if (std::filesystem::is_regular_file(file, ignored)) return std::filesystem::canonical(file);
    }
    return std::nullopt;
  }

  const std::vector<std::filesystem::path>& kernel_dirs_;
  SourceClosure result_;
};

/// The end of the comment that begins at `at`: its line end or past its end mark, else the end of the text.
std::size_t end_of_comment(std::string_view text, std::size_t at) {
  const bool is_line = text[at + 1] == '/';
  const std::size_t end = text.find(is_line ? "\n" : "*/", at + 2);
  if (end == std::string_view::npos) return text.size();
  return is_line ? end : end + 2;
}

/// The end of the literal that begins at `at`: its closing quote, else the end of its line.
std::size_t end_of_literal(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != text[at] && text[end] != '\n') {
    const bool is_escape = text[end] == '\\' && end + 1 < text.size() && text[end + 1] != '\n';
    end += is_escape ? 2 : 1;
  }
  return end;
}

}  // namespace

std::string without_comments(std::string_view text) {
  std::string out(text);
  const auto blank = [&](std::size_t from, std::size_t to) {
    std::replace_if(
        out.begin() + static_cast<std::ptrdiff_t>(from), out.begin() + static_cast<std::ptrdiff_t>(to),
        [](char c) { return c != '\n'; }, ' ');
  };
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (c == '/' && (next == '/' || next == '*')) {
      const std::size_t end = end_of_comment(text, at);
      blank(at, end);
      at = end;
    } else if (c == '"' || (c == '\'' && (at == 0 || !is_word_part(text[at - 1])))) {  // 1'000 is not a literal
      const std::size_t end = end_of_literal(text, at);
      blank(at + 1, end);
      at = end + 1;
    } else {
      ++at;
    }
  }
  return out;
}

std::vector<KernelSignature> kernels_of(std::string_view text) {
  const std::string code = without_comments(text);
  std::vector<KernelSignature> found;
  Cursor cursor(code);
  while (cursor.seek("__global__")) {
    std::string_view last;
    while (!cursor.at_end() && cursor.peek() != ';' && cursor.peek() != '{') {
      if (is_word_part(cursor.peek())) {
        last = cursor.word();
      } else if (cursor.peek() != '(') {
        cursor.step();
      } else {
        std::vector<std::string> parameters = cursor.arguments();
        if (is_decoration(last)) continue;
        cursor.skip_space();
        // The kernel's name stands behind a macro.
        if (is_in_capitals(last) && !cursor.at_end() && cursor.peek() != '{' && cursor.peek() != ';') continue;
        found.push_back({std::string(last), std::move(parameters)});
        break;
      }
    }
  }
  return found;
}

SourceClosure closure_of(const std::filesystem::path& source, const std::vector<std::filesystem::path>& kernel_dirs) {
  Closure closure(kernel_dirs);
  closure.follow(source);
  return closure.take();
}

std::string read_file(const std::filesystem::path& file) {
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  try {
    std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    if (stream) return text;
  } catch (const std::ios_base::failure&) {
    // The library throws this for a folder, whatever the stream's exception mask.
  }
  throw Error(
      fmt::format("cannot read {}: {}", file.string(), errno == 0 ? "the reason is not known" : std::strerror(errno)));
}

}  // namespace tilewright::reading
