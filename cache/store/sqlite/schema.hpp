// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

/// The numbered files of schema/, which CMake puts into the program. Tables are made only there.
namespace tilewright {

/// One step from schema `version - 1` to `version`.
struct Migration {
  int version;
  /// "001_initial", for error texts.
  const char* name;
  const char* sql;
};

/// All steps in order, from version 1 without a gap; they live as long as the program.
[[nodiscard]] std::span<const Migration> migrations() noexcept;

/// The schema that this program reads and writes: the last step's version.
[[nodiscard]] int schema_version() noexcept;

}  // namespace tilewright
