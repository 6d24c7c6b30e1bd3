// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Reads the JSON objects that the launch library returns, so that a program which includes <tilewright/launch.hpp>
/// needs no JSON library. Each field is kept as its text; a nested value is kept whole, for another FlatJson. Not a
/// validator.
namespace tilewright::detail {

class FlatJson {
 public:
  explicit FlatJson(std::string_view json) {
    std::size_t at = 0;
    const std::string_view inside = contents(json, at);
    at = 0;
    while (skip_to_value(inside, at)) {
      std::string key = read_value(inside, at);
      if (!skip_to_value(inside, at)) break;
      fields_.emplace_back(std::move(key), read_value(inside, at));
    }
  }

  /// Empty if the field is absent or null.
  [[nodiscard]] std::string text(std::string_view key) const {
    for (const auto& [name, value] : fields_) {
      if (name == key) return value == "null" ? std::string() : value;
    }
    return {};
  }
  /// 0 if the field is absent or null.
  [[nodiscard]] double number(std::string_view key) const {
    std::istringstream digits(text(key));
    // The application's locale may have a decimal comma.
    digits.imbue(std::locale::classic());
    double value = 0;
    digits >> value;
    return value;
  }

  /// The items of "[…, …]", each as its text.
  [[nodiscard]] static std::vector<std::string> items(std::string_view json) {
    std::size_t at = 0;
    const std::string_view inside = contents(json, at);
    std::vector<std::string> result;
    at = 0;
    while (skip_to_value(inside, at)) result.push_back(read_value(inside, at));
    return result;
  }

 private:
  /// The text between the first bracket and its closing one; `at` moves behind that.
  static std::string_view contents(std::string_view json, std::size_t& at) {
    while (at < json.size() && json[at] != '{' && json[at] != '[') ++at;
    const std::size_t begin = at + 1;
    int depth = 0;
    bool in_text = false;
    for (; at < json.size(); ++at) {
      const char c = json[at];
      if (in_text) {
        if (c == '\\') ++at;
        if (c == '"') in_text = false;
      } else if (c == '"') {
        in_text = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        return json.substr(begin, at++ - begin);
      }
    }
    return {};
  }

  static bool skip_to_value(std::string_view json, std::size_t& at) {
    at = std::min(json.find_first_not_of(" \t\r\n,:", at), json.size());
    return at < json.size();
  }

  /// A string without its quotes, a nested value with its brackets, or a word. `at` moves behind it.
  static std::string read_value(std::string_view json, std::size_t& at) {
    if (json[at] == '"') return read_text(json, at);
    const std::size_t begin = at;
    if (json[at] == '{' || json[at] == '[') {
      contents(json, at);
    } else {
      at = std::min(json.find_first_of(" \t\r\n,:", at), json.size());
    }
    return std::string(json.substr(begin, at - begin));
  }

  static std::string read_text(std::string_view json, std::size_t& at) {
    std::string result;
    for (++at; at < json.size() && json[at] != '"'; ++at) {
      const bool is_escaped = json[at] == '\\' && at + 1 < json.size();
      result += is_escaped ? unescape(json, ++at) : json[at];
    }
    if (at < json.size()) ++at;
    return result;
  }

  /// The character behind a backslash. `at` moves to the last digit of \u. The library escapes quotes, backslashes and
  /// control characters alone, and writes UTF-8 as it is.
  static char unescape(std::string_view json, std::size_t& at) {
    switch (json[at]) {
      case 'n':
        return '\n';
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case 'u': {
        constexpr std::size_t kDigits = 4;
        constexpr int kBase = 16;
        unsigned code = 0;
        const char* const first = json.data() + at + 1;
        const char* const end = first + std::min(kDigits, json.size() - at - 1);
        at += static_cast<std::size_t>(std::from_chars(first, end, code, kBase).ptr - first);
        return static_cast<char>(code);
      }
      default:
        return json[at];
    }
  }

  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace tilewright::detail
