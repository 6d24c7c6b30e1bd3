// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

/// Strict reading of one stored JSON object. A field that is missing, of another kind or unknown is an error: the
/// fields decide what is launched, and a newer version's field must not be ignored. Short-lived, for one thread; keeps
/// a reference to its JSON.
namespace tilewright {

/// Whose mistake a wrong object is: the file's (CacheError) or the caller's (UsageError).
enum class JsonOf : bool { cache, request };

class JsonObject {
 public:
  /// `what` names the object in messages: "interface", "recipe.kernels[0]". Throws if `json` is not an object.
  JsonObject(const nlohmann::json& json, std::string what, JsonOf of = JsonOf::cache);

  [[nodiscard]] const std::string& what() const noexcept { return what_; }
  /// True if the field exists. This does not count as reading it.
  [[nodiscard]] bool has(std::string_view field) const;

  /// Read the field. Throw CacheError (a request: UsageError) if it is missing or of another kind.
  [[nodiscard]] std::string text(std::string_view field);
  [[nodiscard]] std::int64_t integer(std::string_view field);
  /// An integer that an int can hold.
  [[nodiscard]] int small(std::string_view field);
  [[nodiscard]] bool flag(std::string_view field);
  [[nodiscard]] const nlohmann::json& array(std::string_view field);
  [[nodiscard]] const nlohmann::json& object(std::string_view field);
  [[nodiscard]] std::vector<std::string> texts(std::string_view field);

  /// Call this last. Throws likewise if the object has a field that was not read.
  void finish() const;

  [[noreturn]] void fail(std::string_view why) const;

 private:
  const nlohmann::json& field(std::string_view name);

  const nlohmann::json& json_;
  std::string what_;
  JsonOf of_;
  std::vector<std::string> read_;
};

/// "args[2]"
[[nodiscard]] std::string element(std::string_view array, std::size_t index);

}  // namespace tilewright
