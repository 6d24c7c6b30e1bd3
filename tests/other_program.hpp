// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>

#include "cache/store/sqlite/row_hash.hpp"

namespace tilewright {

/// A cache opened by another program that has the tables' functions: its changes update the checksums.
class OtherProgram : public SQLite::Database {
 public:
  explicit OtherProgram(const std::filesystem::path& path) : Database(path.string(), SQLite::OPEN_READWRITE) {
    add_row_functions(*this);
  }
};

}  // namespace tilewright
