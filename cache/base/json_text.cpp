// SPDX-License-Identifier: Apache-2.0
#include "cache/base/json_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

namespace tilewright {
namespace {

using nlohmann::json;

std::string list_of(const std::vector<std::string>& items) { return fmt::format("[{}]", fmt::join(items, ",")); }

}  // namespace

std::string json_of(std::string_view text) { return json(text).dump(-1, ' ', false, json::error_handler_t::replace); }

std::string json_of(double number) { return json(number).dump(); }

std::string json_of(const std::vector<std::string>& texts) {
  std::vector<std::string> items;
  for (const std::string& text : texts) items.push_back(json_of(text));
  return list_of(items);
}

JsonText& JsonText::add_json(std::string_view name, std::string_view json) {
  fields_ += fmt::format("{}{}:{}", fields_.empty() ? "" : ",", json_of(name), json);
  return *this;
}

JsonText& JsonText::add_list(std::string_view name, const std::vector<JsonText>& objects) {
  std::vector<std::string> items;
  for (const JsonText& object : objects) items.push_back(object.text());
  return add_json(name, list_of(items));
}

}  // namespace tilewright
