// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <iosfwd>
#include <string>

/// The small definition with one mistake, made by changing one piece of text, and the message expected for it.
namespace tilewright::test {

struct Spoiled {
  /// For the test's name.
  const char* name;
  const char* from;
  const char* to;
  /// The text at the mistake: its first place from the change on, or else its last place before.
  const char* at;
  /// `{folder}` stands for the definition's folder.
  const char* message;
};

/// Loads the spoiled definition and expects exactly this mistake.
void expect_mistake(const Spoiled& spoiled);

/// Prints the name, so that lists of tests are the same in all runs.
void PrintTo(const Spoiled& spoiled, std::ostream* out);

[[nodiscard]] std::string name_of(const testing::TestParamInfo<Spoiled>& info);

}  // namespace tilewright::test
