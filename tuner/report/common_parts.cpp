// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/common_parts.hpp"

#include <cstdint>
#include <map>
#include <optional>

#include "cache/base/error.hpp"
#include "cache/model/config.hpp"

namespace tilewright {
namespace {

std::optional<Config> config_of(const std::string& text) {
  if (text.find('{') == std::string::npos) return std::nullopt;
  try {
    return Config::parse(text);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<std::string> take_common_parameters(std::vector<std::string>& texts) {
  std::vector<std::optional<Config>> configs;
  for (const std::string& text : texts) configs.push_back(config_of(text));
  // For each implementation: the values of its first config that all later ones have, too.
  std::vector<Config> common;
  std::map<std::string, std::size_t> count;
  for (const auto& config : configs) {
    if (!config) continue;
    if (count[config->implementation]++ == 0) common.push_back(*config);
    for (Config& shared : common) {
      if (shared.implementation != config->implementation) continue;
      std::erase_if(shared.values, [&](const auto& pair) { return config->find(pair.first) != pair.second; });
    }
  }
  std::erase_if(common,
                [&](const Config& shared) { return shared.values.empty() || count[shared.implementation] < 2; });
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const Config& shared : common) {
      if (!configs[i] || configs[i]->implementation != shared.implementation) continue;
      std::erase_if(configs[i]->values, [&](const auto& pair) { return shared.find(pair.first).has_value(); });
      texts[i] = configs[i]->values.empty() ? configs[i]->implementation : configs[i]->text();
    }
  }
  std::vector<std::string> said;
  for (const Config& shared : common) said.push_back(shared.text());
  return said;
}

}  // namespace tilewright
