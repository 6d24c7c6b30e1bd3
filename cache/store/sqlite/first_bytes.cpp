// SPDX-License-Identifier: Apache-2.0
#include "cache/store/sqlite/first_bytes.hpp"

#include <sqlite3.h>

#include <memory>
#include <new>
#include <system_error>
#include <vector>

namespace tilewright {

std::string first_bytes(const std::filesystem::path& path, std::size_t count) try {
  std::error_code error;
  // Opening a pipe would wait for its other end.
  if (!std::filesystem::is_regular_file(path, error)) return {};
  sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
  if (system == nullptr) return {};
  const std::unique_ptr<const char, void (*)(const char*)> name(
      sqlite3_create_filename(std::filesystem::absolute(path).c_str(), "", "", 0, nullptr),
      [](const char* made) { sqlite3_free_filename(const_cast<char*>(made)); });
  std::vector<std::max_align_t> memory(static_cast<std::size_t>(system->szOsFile) / sizeof(std::max_align_t) + 1);
  auto* const file = reinterpret_cast<sqlite3_file*>(memory.data());
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
  if (!name) throw std::bad_alloc();
  if (system->xOpen(system, name.get(), file, flags, nullptr) != SQLITE_OK) return {};
  std::string bytes(count, '\0');
  const int status = file->pMethods->xRead(file, bytes.data(), static_cast<int>(count), 0);
  // If locks are held on the file, SQLite keeps its descriptor open until they are released.
  file->pMethods->xClose(file);
  return status == SQLITE_OK ? bytes : std::string();
} catch (const std::filesystem::filesystem_error&) {
  return {};
}

}  // namespace tilewright
