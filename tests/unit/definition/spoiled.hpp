// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <iosfwd>
#include <string>

/// One mistake in a definition that has no other: the small definition with one piece of text changed, and what must be
/// said of it, where.
namespace tilewright::test {

struct Spoiled {
  /// For the test's name.
  const char* name;
  const char* from;
  const char* to;
  /// The mistake is where this text stands, the first time from the changed piece on, or else the last time before it.
  const char* at;
  /// `{folder}` stands for the folder of the definition.
  const char* message;
};

/// Loads the spoiled definition and expects exactly that mistake.
void expect_mistake(const Spoiled& spoiled);

/// By its name, so that listings of the tests are the same in every run.
void PrintTo(const Spoiled& spoiled, std::ostream* out);

[[nodiscard]] std::string name_of(const testing::TestParamInfo<Spoiled>& info);

}  // namespace tilewright::test
