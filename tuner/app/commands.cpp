// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/commands.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

namespace tilewright::app {

std::string shell_word(const std::string& text) {
  const auto plain = [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter >= 0x80 ||
           std::string_view("/._-+:@%,=").find(static_cast<char>(letter)) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string result = "'";
  for (const char letter : text) result += letter == '\'' ? "'\\''" : std::string(1, letter);
  return result + "'";
}

std::string cache_option(const Place& place) {
  return place.cache ? " --cache " + shell_word(place.cache->string()) : "";
}

std::string ops_options(const Place& place) {
  std::string text;
  for (const std::filesystem::path& folder : place.ops) {
    text += " --ops " + shell_word(std::filesystem::absolute(folder).lexically_normal().string());
  }
  return text;
}

}  // namespace tilewright::app
