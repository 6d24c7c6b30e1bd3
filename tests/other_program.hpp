// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>

#include "cache/store/sqlite/row_hash.hpp"

namespace tilewright {

/// A cache as another program opens it that knows the functions of its tables: what it changes gets the checksum of
/// what it changes it to.
class OtherProgram : public SQLite::Database {
 public:
  explicit OtherProgram(const std::filesystem::path& path) : Database(path.string(), SQLite::OPEN_READWRITE) {
    add_row_functions(*this);
  }
};

}  // namespace tilewright
