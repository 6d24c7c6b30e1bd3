// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// JSON written as text, without a tree: where memory ends, nlohmann's trees lose a part of it, and to free one ends
/// the program. Bytes that are no UTF-8, as in a file's name, are replaced. Pure functions, for any thread.
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
  /// `json` is JSON already.
  JsonText& add_json(std::string_view name, std::string_view json);
  JsonText& add_list(std::string_view name, const std::vector<JsonText>& objects);
  [[nodiscard]] std::string text() const { return "{" + fields_ + "}"; }

 private:
  std::string fields_;
};

}  // namespace tilewright
