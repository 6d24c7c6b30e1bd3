// SPDX-License-Identifier: Apache-2.0
#include "cache/model/config.hpp"

#include <fmt/format.h>

#include <charconv>

#include "cache/model/key_reader.hpp"

namespace tilewright {

Config Config::parse(std::string_view text) {
  KeyReader reader("config", text);
  Config config;
  config.implementation = reader.word("the name of an implementation");
  for (const KeyReader::Pair& pair : reader.pairs('{', '}')) {
    std::int64_t value = 0;
    const char* const end = pair.value.data() + pair.value.size();
    const auto [stop, error] = std::from_chars(pair.value.data(), end, value);
    if (error == std::errc::result_out_of_range) {
      reader.fail(pair.value_at, fmt::format("{} is '{}', beyond 64 bits", pair.name, pair.value));
    }
    if (error != std::errc() || stop != end) {
      reader.fail(pair.value_at, fmt::format("{} is '{}', not a whole number", pair.name, pair.value));
    }
    config.values.emplace_back(pair.name, value);
  }
  reader.end();
  return config;
}

std::string Config::text() const {
  std::string text = implementation + "{";
  for (const auto& [name, value] : values) {
    if (text.back() != '{') text += ',';
    text += fmt::format("{}={}", name, value);
  }
  return text + "}";
}

std::optional<std::int64_t> Config::find(std::string_view parameter) const noexcept {
  for (const auto& [name, value] : values) {
    if (name == parameter) return value;
  }
  return std::nullopt;
}

std::int64_t Config::value_or(std::string_view parameter, std::int64_t otherwise) const noexcept {
  return find(parameter).value_or(otherwise);
}

}  // namespace tilewright
