// SPDX-License-Identifier: Apache-2.0
#include "cache/base/json_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cache/base/error.hpp"

namespace tilewright {

JsonObject::JsonObject(const nlohmann::json& json, std::string what, JsonOf of)
    : json_(json), what_(std::move(what)), of_(of) {
  if (!json_.is_object()) fail("it is not an object");
}

bool JsonObject::has(std::string_view field) const { return json_.contains(std::string(field)); }

std::string JsonObject::text(std::string_view name) {
  const nlohmann::json& value = field(name);
  if (!value.is_string()) fail(fmt::format("'{}' is not a string", name));
  return value.get<std::string>();
}

std::int64_t JsonObject::integer(std::string_view name) {
  const nlohmann::json& value = field(name);
  if (!value.is_number_integer()) fail(fmt::format("'{}' is not a whole number", name));
  // get<> would wrap silently.
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    fail(fmt::format("'{}' is beyond 2^63-1", name));
  }
  return value.get<std::int64_t>();
}

int JsonObject::small(std::string_view name) {
  const std::int64_t value = integer(name);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
    fail(fmt::format("'{}' is beyond 2^31-1", name));
  }
  return static_cast<int>(value);
}

bool JsonObject::flag(std::string_view name) {
  const nlohmann::json& value = field(name);
  if (!value.is_boolean()) fail(fmt::format("'{}' is neither true nor false", name));
  return value.get<bool>();
}

const nlohmann::json& JsonObject::array(std::string_view name) {
  const nlohmann::json& value = field(name);
  if (!value.is_array()) fail(fmt::format("'{}' is not an array", name));
  return value;
}

const nlohmann::json& JsonObject::object(std::string_view name) {
  const nlohmann::json& value = field(name);
  if (!value.is_object()) fail(fmt::format("'{}' is not an object", name));
  return value;
}

std::vector<std::string> JsonObject::texts(std::string_view name) {
  std::vector<std::string> texts;
  for (const nlohmann::json& value : array(name)) {
    if (!value.is_string()) fail(fmt::format("{} is not a string", element(name, texts.size())));
    texts.push_back(value.get<std::string>());
  }
  return texts;
}

void JsonObject::finish() const {
  for (const auto& [name, value] : json_.items()) {
    if (std::find(read_.begin(), read_.end(), name) == read_.end()) {
      fail(fmt::format("'{}' is not known to this version of tilewright", name));
    }
  }
}

void JsonObject::fail(std::string_view why) const {
  if (of_ == JsonOf::request) throw UsageError(fmt::format("{}: {}", what_, why));
  throw CacheError(fmt::format(
      "cannot read {} from the cache: {}; the cache is damaged or of another version: tune again, or import an export",
      what_, why));
}

const nlohmann::json& JsonObject::field(std::string_view name) {
  const auto found = json_.find(std::string(name));
  if (found == json_.end()) fail(fmt::format("'{}' is missing", name));
  read_.emplace_back(name);
  return *found;
}

std::string element(std::string_view array, std::size_t index) { return fmt::format("{}[{}]", array, index); }

}  // namespace tilewright
