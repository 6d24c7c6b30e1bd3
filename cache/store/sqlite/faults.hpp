// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Exception.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "cache/base/error.hpp"

/// The texts of the cache's faults: the action, the file, the reason, and what to type next. They stand in one place,
/// so that docs/cache.md and the tests can list each text. The functions build the exception; callers throw it.
namespace tilewright {

/// The action of most faults.
inline constexpr const char* kOpeningCache = "open the cache";

/// "cannot DOING: the cache PATH REASON. ADVICE". `code` is SQLite's extended code, 0 if SQLite was not asked.
[[nodiscard]] CacheError fault(std::string_view doing, const std::filesystem::path& path, std::string_view reason,
                               std::string_view advice, int code = 0, CacheFault kind = CacheFault::other);

/// The same for a refusal by SQLite, whose code decides reason and advice. `busy_timeout` is the time waited. Throws
/// std::bad_alloc if memory ran out, which is no fault of the file.
[[nodiscard]] CacheError fault(std::string_view doing, const std::filesystem::path& path,
                               const SQLite::Exception& refusal, std::chrono::milliseconds busy_timeout);

/// For a row that cannot be understood: `what` says which row, and why.
[[nodiscard]] CacheError damage(std::string_view doing, const std::filesystem::path& path, std::string_view what,
                                int code = 0);

/// For a file or a folder that this user may not write.
[[nodiscard]] CacheError not_writable(std::string_view doing, const std::filesystem::path& path, int code = 0);

/// Advice for a file that is not Tilewright's.
[[nodiscard]] std::string name_another_file(const std::filesystem::path& path);

}  // namespace tilewright
