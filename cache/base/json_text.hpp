// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Writes JSON as text, without a tree: out of memory, nlohmann's trees lose a part, and freeing one ends the program.
/// Bytes that are not UTF-8, as in file names, are replaced. Pure functions, for any thread.
namespace tilewright {

[[nodiscard]] std::string json_of(std::string_view text);
[[nodiscard]] std::string json_of(double number);
[[nodiscard]] std::string json_of(const std::vector<std::string>& texts);
[[nodiscard]] inline std::string json_of(const std::string& text) { return json_of(std::string_view(text)); }
template <std::integral Number>
[[nodiscard]] std::string json_of(Number number) {
  return std::to_string(number);
}
template <>
[[nodiscard]] inline std::string json_of(bool value) {
  return value ? "true" : "false";
}
template <class Value>
[[nodiscard]] std::string json_of(const std::optional<Value>& value) {
  return value ? json_of(*value) : "null";
}

/// An object, field by field.
class JsonText {
 public:
  template <class Value>
  JsonText& add(std::string_view name, const Value& value) {
    return add_json(name, json_of(value));
  }
  /// `json` must be JSON already.
  JsonText& add_json(std::string_view name, std::string_view json);
  JsonText& add_list(std::string_view name, const std::vector<JsonText>& objects);
  [[nodiscard]] std::string text() const { return "{" + fields_ + "}"; }

 private:
  std::string fields_;
};

}  // namespace tilewright
