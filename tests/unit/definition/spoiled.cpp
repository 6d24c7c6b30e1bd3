// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/definition/spoiled.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <ostream>

#include "tests/unit/definition/helpers.hpp"

namespace tilewright::test {

void expect_mistake(const Spoiled& spoiled) {
  const std::string toml = replaced(kMiniToml, spoiled.from, spoiled.to);
  const std::size_t changed = kMiniToml.find(spoiled.from);
  const std::size_t behind = toml.find(spoiled.at, changed);
  const std::size_t at = behind == std::string::npos ? toml.rfind(spoiled.at, changed) : behind;
  ASSERT_NE(at, std::string::npos) << spoiled.at;
  const std::string before = toml.substr(0, at);
  const auto line = 1 + std::ranges::count(before, '\n');
  const auto column = at - (before.rfind('\n') + 1) + 1;

  const TempFolder folder;
  std::string message = spoiled.message;
  if (message.find("{folder}") != std::string::npos) {
    message = replaced(message, "{folder}", (folder.path() / "mini").string());
  }
  EXPECT_THAT(mistakes_of(folder.write_mini(toml, kMiniSource)),
              testing::ElementsAre(fmt::format("{}:{}: {}", line, column, message)));
}

void PrintTo(const Spoiled& spoiled, std::ostream* out) { *out << spoiled.name; }

std::string name_of(const testing::TestParamInfo<Spoiled>& info) { return info.param.name; }

}  // namespace tilewright::test
