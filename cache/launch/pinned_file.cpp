// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/pinned_file.hpp"

#include <fmt/format.h>

#include <system_error>

#include "cache/base/error.hpp"
#include "cache/base/file_facts.hpp"
#include "cache/base/sha256.hpp"

namespace tilewright::launch {

namespace fs = std::filesystem;

std::string hash_of_pin(std::string_view pin) {
  if (auto hash = sha256_named(pin)) return *std::move(hash);
  throw UsageError(fmt::format(
      "'{}' names no snapshot (TILEWRIGHT_SNAPSHOT, or the option `snapshot`): write sha256: and 64 lower-case "
      "hexadecimal digits",
      pin));
}

fs::path pinned_file(const fs::path& cache, const std::string& hash) {
  std::error_code error;
  const fs::path real = fs::canonical(cache, error);
  const std::string name = hash + ".db";
  std::string other;
  for (const fs::path& file : {folder_of(cache) / "snapshots" / name, folder_of(real) / name, real}) {
    if (!fs::is_regular_file(file, error)) continue;
    const std::string found = sha256_file(file);
    if (found == hash) return fs::canonical(file);
    other = fmt::format("; {} is sha256:{}", file.string(), found);
  }
  throw CacheError(fmt::format(
      "the snapshot sha256:{0} (TILEWRIGHT_SNAPSHOT, or the option `snapshot`) was not found: neither {1} nor a file "
      "in snapshots beside it has this hash{2}. Fetch it with `tilewright pull URL --pin sha256:{0} --to {3}`",
      hash, cache.string(), other, folder_of(cache).string()));
}

}  // namespace tilewright::launch
